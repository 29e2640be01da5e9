//! What a hostile server can send, by the thousand. Lines come out as they were
//! written, messages are told apart, results mean what the contract "Values" of the
//! design says, and nothing else than that happens.

mod contract;
mod generate;
#[path = "../../../../../tests/hostile/mutation.rs"]
mod mutation;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use onecall_core::lines::{Line, TruncatedLine};
use onecall_core::{OutputForm, ServerName, ToolValue};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, ReadBuf};

use crate::connection_options::ConnectionOptions;
use crate::error::{RequestError, SendError};
use crate::protocol::incoming::{self, ServerMessage, answered_id};
use crate::protocol::peer::{MessageSender, Outgoing, Peer};
use crate::protocol::reply::Reply;
use crate::protocol::request::Request;
use crate::protocol::result;
use crate::transport::lines::read_lines;
use contract::{Meaning, meaning};
use generate::{MessageKind, exact_json, json, message, result, written};
use mutation::mutated;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// What a program sees.
fn seen(value: &ToolValue) -> Value {
    match value {
        ToolValue::Nothing => Value::Null,
        ToolValue::Json(json) => serde_json::from_str(json.get()).unwrap(),
        ToolValue::Text(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        ToolValue::WithContent { value, .. } => seen(value),
    }
}

/// The value of an answer of a tool with this output schema.
fn declared_value(result: &RawValue, output: Option<OutputForm>) -> Result<ToolValue, String> {
    let decoded = result::tool_value(Reply::new(result, None), output);
    decoded.map(|decoded| decoded.value).map_err(|error| error.to_string())
}

fn tool_value(result: &RawValue) -> Result<ToolValue, String> {
    declared_value(result, None)
}

fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap()
}

/// Hands out bytes in pieces, each in a read of its own.
struct Pieces(Vec<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(piece) = self.0.first_mut() {
            let count = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..count]);
            piece.drain(..count);
            if piece.is_empty() {
                self.0.remove(0);
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn lines_of(pieces: Vec<Vec<u8>>, limit: usize) -> Vec<Result<Vec<u8>, TruncatedLine>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut lines = Vec::new();
    runtime.block_on(read_lines(Pieces(pieces), limit, |line| {
        lines.push(match line {
            Line::Whole(bytes) => Ok(bytes.to_vec()),
            Line::TooLong(edges) => Err(edges),
        });
    }));
    lines
}

/// Keeps what is sent to the server.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Vec<u8>>>>);

impl MessageSender for Sent {
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        self.0.lock().unwrap().push(message.line);
        Ok(())
    }
}

/// What comes of our first request if its answer, `"mine"`, comes after `lines`.
fn answer_after(lines: &[Vec<u8>]) -> Result<String, RequestError> {
    let peer = Peer::new(ServerName::new("hostile"), ConnectionOptions::default(), Sent::default());
    let request = Request::ListTools { cursor: None };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (answer, ()) = runtime.block_on(async {
        tokio::join!(
            biased;
            peer.request(request, None, |answer| answer.get().to_owned()),
            async {
                lines.iter().for_each(|line| peer.receive(Line::Whole(line)));
                peer.receive(Line::Whole(br#"{"id":1,"result":"mine"}"#));
            },
        )
    });
    answer
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_result_means_what_the_contract_says((result, style) in (result(), any::<Index>())) {
        let value = tool_value(&raw(written(&result, style)));
        match (meaning(&result), value) {
            (Meaning::Value(expected), Ok(value)) => prop_assert_eq!(seen(&value), expected),
            (Meaning::Failure(Some(expected)), Err(message)) => {
                prop_assert_eq!(message, expected);
            }
            (Meaning::Failure(None), Err(message)) => prop_assert!(!message.trim().is_empty()),
            (Meaning::Invalid, Err(message)) => {
                let start = "the server sent a result that is not valid: ";
                prop_assert!(message.starts_with(start), "{}", message);
            }
            (expected, value) => prop_assert!(false, "{:?} and not {:?}", value, expected),
        }
    }

    #[test]
    fn structured_content_is_passed_on_to_the_letter(
        structured in exact_json(),
        text in any::<String>(),
    ) {
        let content = serde_json::json!([{ "type": "text", "text": text }]);
        let result = format!(r#"{{"content":{content},"structuredContent":{{"a":{structured}}}}}"#);
        match tool_value(&raw(result)) {
            Ok(ToolValue::Json(json)) => {
                prop_assert_eq!(json.get(), format!(r#"{{"a":{structured}}}"#));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Whatever else the answer holds.
    #[test]
    fn a_declared_result_is_what_is_inside_to_the_letter(
        value in exact_json(),
        (mut answer, style) in (result(), any::<Index>()),
        is_text in any::<bool>(),
    ) {
        let form = if is_text { OutputForm::WrappedText } else { OutputForm::Wrapped };
        let Some(fields) = answer.as_object_mut() else { return Ok(()) };
        fields.remove("structuredContent");
        let before = tool_value(&raw(written(&answer, style)));
        if before.is_err() {
            return Ok(());
        }
        let rest = written(&answer, style);
        let more = rest.trim_start().strip_prefix('{').unwrap();
        let comma = if more.trim_start().starts_with('}') { "" } else { "," };
        let answer = format!(r#"{{"structuredContent":{{"result":{value}}}{comma}{more}"#);
        match declared_value(&raw(answer), Some(form)) {
            Ok(answer) => {
                let (kind, text) = answer.without_content().encode();
                prop_assert_eq!((kind, &*text), ("json", &*value));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn a_damaged_result_has_a_value_or_an_error(
        bytes in mutated((result(), any::<Index>()).prop_map(|(result, style)| {
            written(&result, style).into_bytes()
        })),
    ) {
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let Ok(result) = RawValue::from_string(text) else { return Ok(()) };
        if let Ok(ToolValue::Json(json)) = tool_value(&result) {
            prop_assert!(serde_json::from_str::<&RawValue>(json.get()).is_ok());
        }
    }

    #[test]
    fn a_message_is_what_it_was_written_as(message in message()) {
        let line = message.line();
        match (&message.kind, incoming::parse_message(line.as_bytes())) {
            (MessageKind::Answer { id, result: expected }, Ok(ServerMessage::Answer { id: got, outcome })) => {
                prop_assert_eq!(got, *id);
                match (expected, outcome) {
                    (Ok(expected), Ok(result)) => prop_assert_eq!(result.get(), expected),
                    (
                        Err((code, message)),
                        Err(RequestError::Refused { code: got, message: said, .. }),
                    ) => {
                        prop_assert_eq!(got, *code);
                        prop_assert_eq!(&said, message);
                    }
                    (expected, outcome) => {
                        prop_assert!(false, "{:?} and not {:?}", outcome, expected);
                    }
                }
            }
            (MessageKind::Request { id, method }, Ok(ServerMessage::Request { id: got, method: said, .. })) => {
                prop_assert_eq!(got.get(), id);
                prop_assert_eq!(&said, method);
            }
            (MessageKind::Notification { method }, Ok(ServerMessage::Notification { method: said, .. })) => {
                prop_assert_eq!(&said, method);
            }
            (expected, got) => prop_assert!(false, "{:?} and not {:?}", got, expected),
        }
    }

    /// A wrong id would fail a call that has nothing to do with the line.
    #[test]
    fn the_id_of_a_line_that_was_not_read_is_right_or_not_known(
        message in message(),
        head in any::<Index>(),
        tail in any::<Index>(),
    ) {
        let line = message.line().into_bytes();
        let head = head.index(line.len() + 1);
        let tail = tail.index(line.len() + 1);
        match &message.kind {
            MessageKind::Answer { id, .. } => {
                prop_assert_eq!(answered_id(&line, b""), Some(*id));
                for found in [
                    answered_id(&line[..head], &line[tail..]),
                    // A server that ends in the middle of a line.
                    answered_id(&line[..head], b""),
                ] {
                    prop_assert!(found.is_none_or(|found| found == *id), "{:?}", found);
                }
            }
            MessageKind::Request { .. } | MessageKind::Notification { .. } => {
                prop_assert_eq!(answered_id(&line, &line[tail..]), None);
            }
        }
    }

    #[test]
    fn whatever_a_server_says_gets_whole_lines_of_json_or_nothing(
        lines in vec(
            prop_oneof![
                vec(any::<u8>(), 0..60),
                message().prop_map(|message| message.line().into_bytes()),
                vec(message(), 0..4).prop_map(|messages| {
                    let lines: Vec<_> = messages.iter().map(generate::GeneratedMessage::line).collect();
                    format!("[{}]", lines.join(",")).into_bytes()
                }),
                mutated(message().prop_map(|message| message.line().into_bytes())),
                json().prop_map(|value| value.to_string().into_bytes()),
            ],
            0..6,
        ),
    ) {
        let sent = Sent::default();
        let peer = Peer::new(ServerName::new("hostile"), ConnectionOptions::default(), sent.clone());
        for line in &lines {
            peer.receive(Line::Whole(line));
            peer.receive(Line::TooLong(TruncatedLine { head: line.clone(), tail: line.clone() }));
        }
        for line in &*sent.0.lock().unwrap() {
            let text = line.strip_suffix(b"\n").unwrap();
            prop_assert!(!text.contains(&b'\n'));
            let answer: Value = serde_json::from_slice(text).unwrap();
            prop_assert!(answer.get("id").is_some() && answer.get("method").is_none());
        }
    }

    /// Whatever else comes in before it, cut off or not.
    #[test]
    fn a_call_ends_with_its_own_answer(
        messages in vec((message(), prop_oneof![Just(0), 1..4_usize, 0..100_usize]), 0..6),
    ) {
        let is_foreign =
            |message: &generate::GeneratedMessage| !matches!(message.kind, MessageKind::Answer { id: 1, .. });
        let messages = messages.iter().filter(|(message, _)| is_foreign(message));
        let lines: Vec<Vec<u8>> = messages
            .map(|(message, missing)| {
                let mut line = message.line().into_bytes();
                line.truncate(line.len().saturating_sub(*missing));
                line
            })
            .collect();
        prop_assert_eq!(answer_after(&lines), Ok("\"mine\"".to_owned()));
    }

    #[test]
    fn lines_are_the_same_however_they_arrive(
        bytes in prop_oneof![
            vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..300),
            vec(any::<u8>(), 0..300),
        ],
        repeats in 1..80_usize,
        limit in prop_oneof![1..50_usize, 1..20_000_usize],
        cuts in vec(any::<Index>(), 0..10),
    ) {
        let bytes = bytes.repeat(repeats);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let mut start = 0;
        let pieces = cuts.iter().map(|&end| bytes[std::mem::replace(&mut start, end)..end].to_vec());
        let pieces = pieces.filter(|piece| !piece.is_empty()).collect();
        let mut expected: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if expected.last() == Some(&&b""[..]) {
            expected.pop();
        }
        let lines = lines_of(pieces, limit);
        prop_assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(expected) {
            match line {
                Ok(line) => prop_assert_eq!(line, expected),
                Err(TruncatedLine { head, tail }) => {
                    prop_assert!(expected.len() > limit);
                    prop_assert!(expected.starts_with(head) && expected.ends_with(tail));
                    let kept = expected.len().min(4 * 1024);
                    prop_assert_eq!((head.len(), tail.len()), (kept, kept));
                }
            }
        }
    }
}
