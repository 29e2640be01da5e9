//! Parses the messages of a server without copying them. A server is not trusted: a message that is
//! malformed becomes [`ServerMessage::Invalid`] and has no other effect.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::RequestError;

/// One message of a server.
#[derive(Debug)]
pub(crate) enum ServerMessage<'a> {
    /// The answer to our request `id`.
    Answer { id: u64, outcome: Result<&'a RawValue, RequestError> },
    /// A request that expects an answer with this id.
    Request { id: &'a RawValue, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// A notification, which expects no answer.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// Valid JSON that is not a valid message.
    Invalid,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Method<'a>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A wrapper that lets serde borrow the text; a bare `Cow` inside an `Option` is always copied.
#[derive(Deserialize)]
struct Method<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct ErrorBody {
    code: i64,
    message: String,
    data: Option<Box<Value>>,
}

/// The content of one line.
pub(crate) enum ServerMessages<'a> {
    One(ServerMessage<'a>),
    Batch(Vec<ServerMessage<'a>>),
}

/// Parses a line: a message, or a JSON array of messages.
pub(crate) fn parse_line(line: &[u8]) -> Result<ServerMessages<'_>, serde_json::Error> {
    match line.trim_ascii_start().starts_with(b"[") {
        true => parse_batch(line).map(ServerMessages::Batch),
        false => parse_message(line).map(ServerMessages::One),
    }
}

/// Parses a batch: a JSON array of messages.
fn parse_batch(json: &[u8]) -> Result<Vec<ServerMessage<'_>>, serde_json::Error> {
    let batch: Vec<&RawValue> = serde_json::from_slice(json)?;
    let messages = batch.into_iter().map(|message| parse_message(message.get().as_bytes()));
    Ok(messages.map(|message| message.unwrap_or(ServerMessage::Invalid)).collect())
}

/// Parses one message, which must be a JSON object.
pub(crate) fn parse_message(json: &[u8]) -> Result<ServerMessage<'_>, serde_json::Error> {
    if !json.trim_ascii_start().starts_with(b"{") {
        // Serde would accept an array as the fields of the envelope in order.
        serde_json::from_slice::<serde::de::IgnoredAny>(json)?;
        return Ok(ServerMessage::Invalid);
    }
    let envelope: Envelope<'_> = serde_json::from_slice(json)?;
    let params = envelope.params;
    Ok(match (envelope.method, envelope.id) {
        (Some(Method(method)), None) => ServerMessage::Notification { method, params },
        (Some(Method(method)), Some(id)) if is_request_id(id) => {
            ServerMessage::Request { id, method, params }
        }
        (None, Some(id)) => match parse_own_id(id.get()) {
            Some(id) => {
                ServerMessage::Answer { id, outcome: outcome(envelope.result, envelope.error) }
            }
            None => ServerMessage::Invalid,
        },
        _ => ServerMessage::Invalid,
    })
}

fn outcome<'a>(
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Result<&'a RawValue, RequestError> {
    let Some(error) = error else { return Ok(result.unwrap_or(RawValue::NULL)) };
    Err(match serde_json::from_str::<ErrorBody>(error.get()) {
        Ok(ErrorBody { code, message, data }) => RequestError::Refused { code, message, data },
        Err(_) => RequestError::Refused { code: 0, message: error.get().to_owned(), data: None },
    })
}

/// Whether an id can be sent back: a string or a number of reasonable length.
fn is_request_id(id: &RawValue) -> bool {
    let id = id.get();
    id.len() <= 1024 && id.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'))
}

/// Parses the id of one of our requests, which some servers return as a string.
pub(crate) fn parse_own_id(id: &str) -> Option<u64> {
    id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id).parse().ok()
}

/// Finds the request that an unparsed line answers, from its first and last bytes. Returns `None`
/// rather than a guess, because a wrong id would fail an unrelated call.
pub(crate) fn answered_id(head: &[u8], tail: &[u8]) -> Option<u64> {
    let seen = OutermostKeys::of(head);
    // A request of the server has an id too, but from the server's own numbering.
    if seen.is_answer { seen.id.or_else(|| id_in_tail(tail)) } else { None }
}

/// The keys of the outermost object, as far as they are visible in the first bytes.
#[derive(Default)]
struct OutermostKeys {
    id: Option<u64>,
    is_answer: bool,
}

impl OutermostKeys {
    fn of(head: &[u8]) -> Self {
        let mut seen = Self::default();
        // Stops at the first byte that cannot be interpreted.
        let _ = seen.read(head);
        seen
    }

    fn read(&mut self, head: &[u8]) -> Option<()> {
        let mut rest = head.trim_ascii_start().strip_prefix(b"{")?;
        let mut depth = 1_u32;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                b'"' => {
                    let (string, after) = rest.split_at_checked(string_length(rest)?)?;
                    rest = after.strip_prefix(b"\"")?;
                    if depth == 1
                        && let Some(value) = rest.trim_ascii_start().strip_prefix(b":")
                    {
                        self.add(string, value);
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"id" => self.id = self.id.or_else(|| leading_number(value).map(|(id, _)| id)),
            b"result" | b"error" => self.is_answer = true,
            _ => {}
        }
    }
}

/// Parses an `"id": N` that is followed only by the closing brace of the outermost object, or by
/// the protocol version and that brace.
fn id_in_tail(tail: &[u8]) -> Option<u64> {
    let key = br#""id""#;
    let at = tail.windows(key.len()).rposition(|window| window == key)?;
    let value = tail.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?;
    let (id, rest) = leading_number(value)?;
    let rest: Vec<u8> = rest.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    (rest == b"}" || rest == br#","jsonrpc":"2.0"}"#).then_some(id)
}

/// The length of a string whose opening quote has been read.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    bytes.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// A number, plain or in quotes, and the bytes after it.
fn leading_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let bytes = bytes.trim_ascii_start();
    let quoted = bytes.strip_prefix(b"\"");
    let bytes = quoted.unwrap_or(bytes);
    let digits = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = bytes.split_at_checked(digits)?;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let rest = if quoted.is_some() { rest.strip_prefix(b"\"")? } else { rest };
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message in short, for comparing.
    fn kind(line: &str) -> String {
        let messages = match parse_line(line.as_bytes()) {
            Ok(ServerMessages::One(message)) => vec![message],
            Ok(ServerMessages::Batch(batch)) => batch,
            Err(_) => return "not JSON".to_owned(),
        };
        let kinds: Vec<String> = messages
            .into_iter()
            .map(|message| match message {
                ServerMessage::Answer { id, outcome: Ok(result) } => format!("{id} = {result}"),
                ServerMessage::Answer { id, outcome: Err(error) } => format!("{id} ! {error}"),
                ServerMessage::Request { id, method, .. } => format!("{method} as {id}"),
                ServerMessage::Notification { method, .. } => format!("{method}"),
                ServerMessage::Invalid => "nonsense".to_owned(),
            })
            .collect();
        kinds.join("; ")
    }

    #[test]
    fn messages_are_told_apart() {
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":3,"result":{"a":[1]}}"#), r#"3 = {"a":[1]}"#);
        assert_eq!(kind(r#"{"result":1,"id":"3"}"#), "3 = 1");
        assert_eq!(kind(r#"{"id":3,"result":null}"#), "3 = null");
        assert_eq!(kind(r#"{"id":3,"error":{"code":-1,"message":"no"}}"#), "3 ! no");
        assert_eq!(kind(r#"{"id":3,"error":"no"}"#), r#"3 ! "no""#);
        assert_eq!(kind(r#"{"id":"a","method":"ping"}"#), r#"ping as "a""#);
        assert_eq!(kind(r#"{"method":"x","params":{}}"#), "x");
        assert_eq!(kind(r#"[{"id":1,"result":2},{"method":"x"}]"#), "1 = 2; x");
    }

    #[test]
    fn nonsense_is_named_and_nothing_more() {
        assert_eq!(kind("Server listening on stdio"), "not JSON");
        assert_eq!(kind(r#"{"id":3,"result":NaN}"#), "not JSON");
        assert_eq!(kind("42"), "nonsense");
        assert_eq!(kind(r#"{"level":"info"}"#), "nonsense");
        assert_eq!(kind(r#"{"id":null,"error":{"code":-32700,"message":"parse"}}"#), "nonsense");
        assert_eq!(kind(r#"{"id":-1,"result":1}"#), "nonsense");
        assert_eq!(kind(r#"{"id":{"a":1},"method":"ping"}"#), "nonsense");
        assert_eq!(kind(r#"[[1,"ping",2]]"#), "nonsense");
        assert_eq!(kind("[]"), "");
        assert_eq!(kind(&"[".repeat(100_000)), "not JSON");
    }

    #[test]
    fn the_id_of_an_unread_answer_is_found_or_not_guessed() {
        let id = |head: &str, tail: &str| answered_id(head.as_bytes(), tail.as_bytes());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":12,"result":{"cont"#, ""), Some(12));
        assert_eq!(id(r#" { "id" : "12", "result":"#, ""), Some(12));
        assert_eq!(id(r#"{"result":{"id":5,"x":[{"id":6},"#, r#"aa"}},"id":7}"#), Some(7));
        assert_eq!(id(r#"{"result":"#, r#"aa"}, "id": 7, "jsonrpc": "2.0" }"#), Some(7));
        assert_eq!(id(r#"{"result":{"id":5,"x":"#, r#"[{"id":7}]}}"#), None);
        assert_eq!(id(r#"{"result":{"id":5,"#, r#""id":7}}"#), None);
        assert_eq!(id(r#"{"a":"\",\"id\":3","#, ""), None);
        assert_eq!(id(r#"{"a":"id","b":3"#, ""), None);
        assert_eq!(id(r#"{"id":12"#, ""), None);
        assert_eq!(id("", ""), None);
        // The server's own requests count from one as well.
        assert_eq!(id(r#"{"id":1,"method":"roots/list","params":"#, r#""id":1}"#), None);
        assert_eq!(id(r#"{"method":"roots/list","params":"#, r#"},"id":1}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":1,"#, ""), None);
    }
}
