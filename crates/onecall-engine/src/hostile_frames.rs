//! What a hostile worker can send, by the thousand: whatever arrives, and however it
//! is cut into pieces, the gateway sees frames or a [`ProtocolError`].
//!
//! The kinds of frames are found by asking the decoder, so a new kind is tried as soon
//! as it exists.

#[path = "../../../tests/hostile/mutation.rs"]
mod mutation;

use std::collections::HashSet;
use std::future::pending;
use std::io::Write;
use std::os::unix::net::UnixStream as Socket;

use onecall_core::{
    BoxFuture, CallableName, Freshness, Language, NodeCall, ProgramHost, ProgramQuestion,
    Resolution, ResolutionFuture, ToolCall, ToolError, ToolValue,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio::net::UnixStream;

use crate::calls::PendingCalls;
use crate::connection::Connection;
use crate::protocol::{FromWorker, MAX_FRAME, ProtocolError, ToWorker, frame_length};
use mutation::mutated;

/// What the gateway reads at once; longer frames arrive in several pieces.
const READ_SIZE: usize = 64 * 1024;

/// Fits into a socket and into one read.
const LARGEST_CHUNK: usize = 48 * 1024;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len() + 1).unwrap();
    [&length.to_le_bytes(), &[kind][..], payload].concat()
}

/// The kinds that the gateway knows.
fn kinds() -> Vec<u8> {
    let is_known = |kind: &u8| {
        !matches!(FromWorker::decode(&frame(*kind, b"")), Err(ProtocolError::UnknownKind(_)))
    };
    (0..=u8::MAX).filter(is_known).collect()
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[ -~]{0,40}".prop_map(String::into_bytes),
        2 => any::<String>().prop_map(String::into_bytes),
        1 => (1..4 * READ_SIZE).prop_map(|length| vec![b'x'; length]),
    ]
}

/// An id, a name and a text in every combination that frames are made of.
fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (any::<u64>(), "[a-z_é]{0,30}", text()).prop_map(|(id, name, text)| {
        let id = id.to_le_bytes();
        let name_length = u16::try_from(name.len()).unwrap().to_le_bytes();
        vec![
            [&id[..], &name_length, name.as_bytes(), &text].concat(),
            [&id[..], &text].concat(),
            id.to_vec(),
            text,
            Vec::new(),
        ]
    })
}

/// A question as workers ask it.
fn question() -> impl Strategy<Value = String> {
    let texts = ("[a-z_é\"]{0,12}", any::<String>());
    let question =
        (0..9_u8, texts, any::<usize>()).prop_map(|(kind, (name, text), number)| match kind {
            0 => ProgramQuestion::Find { name },
            1 => ProgramQuestion::List {},
            2 => ProgramQuestion::Schema { name },
            3 => ProgramQuestion::NodeSchema { node: number },
            4 => ProgramQuestion::Search { query: text, limit: number, language: Language::Python },
            5 => ProgramQuestion::Server { name },
            6 => ProgramQuestion::CacheClear { pattern: text },
            7 => ProgramQuestion::CacheForget { text },
            _ => ProgramQuestion::CacheStats {},
        });
    question.prop_map(|question| serde_json::to_string(&question).unwrap())
}

/// A host that never answers.
struct SilentHost;

impl ProgramHost for SilentHost {
    fn resolve<'a>(&'a self, _name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(Resolution::unknown(Vec::new()))
    }

    fn call(&self, _call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(pending())
    }

    fn call_node(&self, _call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(pending())
    }

    fn ask(
        &self,
        _: u64,
        _question: ProgramQuestion,
    ) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(pending())
    }
}

/// A frame that the gateway understands.
fn valid_frame() -> impl Strategy<Value = Vec<u8>> {
    (payloads(), any::<Index>(), any::<Index>()).prop_map(|(payloads, kind, payload)| {
        let is_understood = |frame: &Vec<u8>| FromWorker::decode(frame).is_ok();
        let frames_of = |kind: u8| -> Vec<Vec<u8>> {
            let frames = payloads.iter().map(|payload| frame(kind, payload));
            frames.filter(is_understood).collect()
        };
        let frames: Vec<_> =
            kinds().into_iter().map(frames_of).filter(|frames| !frames.is_empty()).collect();
        let frames = kind.get(&frames);
        payload.get(frames).clone()
    })
}

/// A frame with a true length and nothing else that is certain.
fn arbitrary_frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => select(kinds()), 1 => any::<u8>()];
    let payload = prop_oneof![
        vec(any::<u8>(), 0..40),
        (payloads(), any::<Index>()).prop_map(|(payloads, index)| index.get(&payloads).clone()),
        mutated(text()),
    ];
    (kind, payload).prop_map(|(kind, payload)| frame(kind, &payload))
}

/// What a worker might send in its life.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let frames = || vec(valid_frame(), 0..8).prop_map(|frames| frames.concat());
    prop_oneof![
        3 => frames(),
        1 => (frames(), arbitrary_frame()).prop_map(|(frames, last)| [frames, last].concat()),
        1 => mutated(frames()),
    ]
}

/// What `bytes` say, read at once: the frames, then the error that ends them, if any.
fn read_whole(mut bytes: &[u8]) -> Vec<String> {
    let mut decoded_frames = Vec::new();
    loop {
        let decoded = match frame_length(bytes) {
            Ok(Some(length)) => FromWorker::decode(&bytes[..length]).map(|frame| (length, frame)),
            Ok(None) => return decoded_frames,
            Err(error) => Err(error),
        };
        match decoded {
            Ok((length, frame)) => {
                decoded_frames.push(format!("{frame:?}"));
                bytes = &bytes[length..];
            }
            Err(error) => {
                decoded_frames.push(format!("{error:?}"));
                return decoded_frames;
            }
        }
    }
}

/// What the gateway decodes when each of `chunks` arrives by itself.
fn read_chunks(chunks: &[&[u8]]) -> Vec<String> {
    with_connection(async |mut worker, mut connection| {
        let mut decoded_frames = Vec::new();
        let mut decode_available = |connection: &mut Connection| loop {
            match connection.take_frame(|frame| format!("{frame:?}")) {
                Ok(Some(frame)) => decoded_frames.push(frame),
                Ok(None) => return true,
                Err(error) => {
                    decoded_frames.push(format!("{error:?}"));
                    return false;
                }
            }
        };
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            worker.write_all(chunk).unwrap();
            if !connection.exchange().await || !decode_available(&mut connection) {
                return decoded_frames;
            }
        }
        drop(worker);
        while connection.exchange().await && decode_available(&mut connection) {}
        decoded_frames
    })
}

/// Runs `body` with both ends of a worker's socket.
fn with_connection<T>(body: impl AsyncFnOnce(Socket, Connection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let (worker, gateway) = Socket::pair().unwrap();
        gateway.set_nonblocking(true).unwrap();
        let connection = Connection::new(UnixStream::from_std(gateway).unwrap());
        body(worker, connection).await
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_a_frame_or_an_error(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..64),
            arbitrary_frame(),
            mutated(arbitrary_frame()),
            mutated(valid_frame()),
        ],
    ) {
        if let Ok(Some(length)) = frame_length(&bytes) {
            prop_assert!(length <= bytes.len());
        }
        let _ = FromWorker::decode(&bytes);
        let _ = ToWorker::decode(&bytes);
        read_whole(&bytes);
    }

    /// What a frame says is all that is kept of it: bytes after the last field are
    /// ignored, and nothing else is.
    #[test]
    fn a_frame_that_was_understood_can_be_sent_again(
        bytes in prop_oneof![valid_frame(), arbitrary_frame()],
    ) {
        let Ok(frame) = FromWorker::decode(&bytes) else { return Ok(()) };
        let mut again = Vec::new();
        frame.encode(&mut again).unwrap();
        prop_assert_eq!(frame_length(&again), Ok(Some(again.len())));
        prop_assert!(bytes[4..].starts_with(&again[4..]), "{:?} became {:?}", bytes, again);
        prop_assert_eq!(FromWorker::decode(&again), Ok(frame));
    }

    #[test]
    fn frames_do_not_depend_on_how_they_are_cut(
        bytes in stream(),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let mut start = 0;
        let pieces = cuts.iter().map(|&end| &bytes[std::mem::replace(&mut start, end)..end]);
        let chunks: Vec<&[u8]> = pieces.flat_map(|piece| piece.chunks(LARGEST_CHUNK)).collect();
        prop_assert_eq!(read_chunks(&chunks), read_whole(&bytes));
    }

    #[test]
    fn a_few_bytes_cut_one_by_one(bytes in stream()) {
        let bytes = &bytes[..bytes.len().min(200)];
        let chunks: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read_chunks(&chunks), read_whole(bytes));
    }

    /// What the gateway takes for a question is one, all of it.
    #[test]
    fn a_question_is_understood_or_refused(
        text in prop_oneof![
            question().prop_map(String::into_bytes),
            mutated(question().prop_map(String::into_bytes)),
        ],
    ) {
        let Ok(text) = String::from_utf8(text) else { return Ok(()) };
        let understood = serde_json::from_str::<ProgramQuestion>(&text);
        let asked = PendingCalls::default().ask(1, &text, &SilentHost);
        prop_assert!(understood.is_ok() || asked == Err(ProtocolError::InvalidQuestion));
        if let Ok(question) = understood {
            let again = serde_json::to_string(&question).unwrap();
            prop_assert_eq!(serde_json::from_str::<ProgramQuestion>(&again).ok(), Some(question));
        }
    }

    /// Calls, nodes and questions take their ids and their room from the same.
    #[test]
    fn an_id_is_one_thing_at_a_time(steps in vec((0..4_u8, 0..6_u64), 0..40)) {
        let (mut calls, mut held) = (PendingCalls::default(), HashSet::new());
        for (step, id) in steps {
            let began = match step {
                0 => calls.start((id, "mcp__a__b", "{}", Freshness::Any), None, &SilentHost),
                1 => calls.start_node((id, 0, "{}"), None, &SilentHost),
                2 => calls.ask(id, r#"{"list":{}}"#, &SilentHost),
                _ => {
                    calls.cancel(id);
                    held.remove(&id);
                    continue;
                }
            };
            prop_assert_eq!(began.is_ok(), held.insert(id));
        }
        prop_assert!(calls.has_room());
        for id in 100..1124 - u64::try_from(held.len()).unwrap() {
            prop_assert!(calls.has_room());
            prop_assert_eq!(calls.ask(id, r#"{"list":{}}"#, &SilentHost), Ok(()));
        }
        prop_assert!(!calls.has_room());
    }

    /// A worker can claim any length: one over the cap is refused as soon as it is
    /// there, and none takes memory for bytes that have not come.
    #[test]
    fn a_length_is_checked_before_it_is_believed(
        length in prop_oneof![
            1..=u32::MAX,
            (0..4_usize).prop_map(|more| u32::try_from(MAX_FRAME - 2 + more).unwrap()),
        ],
        start in vec(any::<u8>(), 1..100),
    ) {
        let (first, second, room) = with_connection(async |mut worker, mut connection| {
            worker.write_all(&length.to_le_bytes()).unwrap();
            connection.exchange().await;
            let first = connection.take_frame(|_| ());
            worker.write_all(&start).unwrap();
            connection.exchange().await;
            (first, connection.take_frame(|_| ()), connection.incoming_capacity())
        });
        let length = usize::try_from(length).unwrap();
        let expected =
            if length > MAX_FRAME { Err(ProtocolError::TooLong(length)) } else { Ok(None) };
        prop_assert_eq!(&first, &expected);
        if length > start.len() {
            prop_assert_eq!(&second, &expected);
        }
        prop_assert!(room <= 2 * (start.len() + READ_SIZE), "{} bytes of memory", room);
    }
}
