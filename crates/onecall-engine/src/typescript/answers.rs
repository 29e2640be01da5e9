//! Receives the answers to calls and questions, and keeps track of the calls that wait for a
//! person.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use super::journal;
use super::wire::socket;
use crate::protocol::{AnswerPayload, FromWorker, ToWorker};
use crate::worker_process::socket::WaitOutcome;

/// Observations wait this long for a call that they can leave with.
const OBSERVATION_DELAY: Duration = Duration::from_millis(20);

thread_local! {
    /// Answers that arrived while another one was awaited.
    static UNCLAIMED: RefCell<VecDeque<ReceivedAnswer>> = const { RefCell::new(VecDeque::new()) };
    /// The calls that wait for a person.
    static HELD: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

/// The answer to a call.
pub(super) struct ReceivedAnswer {
    pub(super) id: u64,
    pub(super) answer: OwnedAnswer,
}

pub(super) enum OwnedAnswer {
    Nothing,
    Json(String),
    Text(String),
    Content(String),
    Error(String),
}

impl From<AnswerPayload<'_>> for OwnedAnswer {
    fn from(answer: AnswerPayload<'_>) -> Self {
        match answer {
            AnswerPayload::Nothing => Self::Nothing,
            AnswerPayload::Json(text) => Self::Json(text.to_owned()),
            AnswerPayload::Text(text) => Self::Text(text.to_owned()),
            AnswerPayload::Content(text) => Self::Content(text.to_owned()),
            AnswerPayload::Error(text) => Self::Error(text.to_owned()),
        }
    }
}

/// The answer in a frame. Any other frame is handled here.
fn answer_in(frame: ToWorker<'_>) -> Option<ReceivedAnswer> {
    match frame {
        ToWorker::Answer { id, answer } => {
            HELD.with_borrow_mut(|held| held.remove(&id));
            return Some(ReceivedAnswer { id, answer: answer.into() });
        }
        ToWorker::Held { id } => _ = HELD.with_borrow_mut(|held| held.insert(id)),
        ToWorker::Released { id } => _ = HELD.with_borrow_mut(|held| held.remove(&id)),
        ToWorker::Program { .. }
        | ToWorker::SkipWarmUp
        | ToWorker::TestSandbox
        | ToWorker::NameResolved { .. } => {}
    }
    None
}

/// The calls that wait for a person.
pub(super) fn held_calls() -> Vec<u64> {
    HELD.with_borrow(|held| held.iter().copied().collect())
}

pub(super) fn receive<T>(
    deadline: Option<Instant>,
    handle: impl FnOnce(ToWorker<'_>) -> T,
) -> io::Result<Option<T>> {
    let here = |wait: &mut dyn FnMut() -> io::Result<WaitOutcome>| wait();
    socket()?.receive(deadline, here, handle)
}

/// The next answer; `None` if `deadline` passes, the wait is interrupted, or the calls that wait
/// for a person have changed.
pub(super) fn next_answer(deadline: Option<Instant>) -> io::Result<Option<ReceivedAnswer>> {
    if let Some(answered) = UNCLAIMED.with_borrow_mut(VecDeque::pop_front) {
        return Ok(Some(answered));
    }
    let socket = socket()?;
    if let Some(answered) = socket.take_received(answer_in)? {
        return Ok(answered);
    }
    socket.flush()?;
    if journal::has_unsent() {
        let soon = Instant::now() + OBSERVATION_DELAY;
        let is_first = deadline.is_none_or(|deadline| soon < deadline);
        let until = if is_first { Some(soon) } else { deadline };
        if let Some(received) = receive(until, answer_in)? {
            return Ok(received);
        }
        if !is_first {
            return Ok(None);
        }
        journal::send_unsent()?;
        socket.flush()?;
    }
    Ok(receive(deadline, answer_in)?.flatten())
}

/// The answer to one call; answers to others are kept.
pub(super) fn answer_to(call: u64) -> io::Result<ReceivedAnswer> {
    let of_call = |unclaimed: &mut VecDeque<ReceivedAnswer>| {
        let index = unclaimed.iter().position(|answered| answered.id == call)?;
        unclaimed.remove(index)
    };
    if let Some(answered) = UNCLAIMED.with_borrow_mut(of_call) {
        return Ok(answered);
    }
    socket()?.flush()?;
    loop {
        match receive(None, answer_in)?.flatten() {
            Some(answered) if answered.id == call => return Ok(answered),
            Some(answered) => keep(answered),
            None => {}
        }
    }
}

fn keep(answered: ReceivedAnswer) {
    UNCLAIMED.with_borrow_mut(|unclaimed| unclaimed.push_back(answered));
}

/// Asks what a name refers to, and waits for the answer, which is JSON text.
pub(super) fn resolve(name: &str) -> io::Result<String> {
    send_question(&FromWorker::Resolve { name })?;
    loop {
        let received = receive(None, |frame| match frame {
            ToWorker::NameResolved { meaning } => Ok(meaning.to_owned()),
            other => Err(answer_in(other)),
        })?;
        match received {
            Some(Ok(meaning)) => return Ok(meaning),
            Some(Err(Some(answered))) => keep(answered),
            Some(Err(None)) | None => {}
        }
    }
}

/// Sends a question and waits for its answer.
pub(super) fn ask(id: u64, question: &str) -> io::Result<OwnedAnswer> {
    send_question(&FromWorker::Ask { id, question })?;
    Ok(answer_to(id)?.answer)
}

fn send_question(question: &FromWorker<'_>) -> io::Result<()> {
    journal::send_unsent()?;
    let socket = socket()?;
    socket.send(question)?;
    socket.flush()
}
