//! The unanswered calls and questions of one program.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use onecall_core::{
    BoxFuture, CallSite, CallableName, Freshness, NodeCall, ProgramHost, ProgramQuestion, ToolCall,
    ToolError, ToolValue,
};
use serde_json::value::RawValue;

use crate::protocol::ProtocolError;

/// How many calls and questions of one program the gateway holds at once, running or queued. While
/// there are more, the program's socket is not read.
const MAX_PENDING: usize = 1024;

/// How many bytes of arguments and questions it holds at once.
const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// The id of a call or question, and its result.
type CompletedCall = (u64, Result<ToolValue, ToolError>);

/// The unanswered calls and questions of one program. Their ids are unique.
#[derive(Default)]
pub(crate) struct PendingCalls<'a> {
    running: FuturesUnordered<Abortable<BoxFuture<'a, CompletedCall>>>,
    pending: HashMap<u64, PendingCall>,
    pending_bytes: usize,
    /// The name that was called last; the next call often has the same one.
    last_name: Option<CallableName>,
}

struct PendingCall {
    abort: AbortHandle,
    bytes: usize,
}

impl<'a> PendingCalls<'a> {
    /// Whether another call or question may be accepted from the program.
    pub(crate) fn has_room(&self) -> bool {
        self.pending.len() < MAX_PENDING && self.pending_bytes < MAX_PENDING_BYTES
    }

    /// Whether these are all the unanswered calls and questions.
    pub(crate) fn are_all(&self, ids: &BTreeSet<u64>) -> bool {
        self.pending.keys().all(|id| ids.contains(id))
    }

    /// Starts a call. An error means that the worker has violated the protocol.
    pub(crate) fn start(
        &mut self,
        (id, name, arguments, freshness): (u64, &str, &str, Freshness),
        site: Option<CallSite>,
        host: &'a dyn ProgramHost,
    ) -> Result<(), ProtocolError> {
        if name.len() > CallableName::MAX_BYTES {
            return Err(ProtocolError::NameTooLong);
        }
        let bytes = name.len() + arguments.len();
        let arguments = parse_object(arguments)?;
        let call = ToolCall { id, name: self.name(name), arguments, freshness, site };
        self.add(id, bytes, host.call(call))
    }

    /// Starts a call of a plan's node. An error means that the worker has violated the protocol.
    pub(crate) fn start_node(
        &mut self,
        (id, node, arguments): (u64, u32, &str),
        site: Option<CallSite>,
        host: &'a dyn ProgramHost,
    ) -> Result<(), ProtocolError> {
        let bytes = arguments.len();
        // A number that does not fit becomes one that no plan has.
        let node = usize::try_from(node).unwrap_or(usize::MAX);
        let call = NodeCall { id, node, arguments: parse_object(arguments)?, site };
        self.add(id, bytes, host.call_node(call))
    }

    /// Starts to answer a question. An error means that the worker has violated the protocol.
    pub(crate) fn ask(
        &mut self,
        id: u64,
        question: &str,
        host: &'a dyn ProgramHost,
    ) -> Result<(), ProtocolError> {
        let bytes = question.len();
        let question: ProgramQuestion =
            serde_json::from_str(question).map_err(|_| ProtocolError::InvalidQuestion)?;
        if matches!(&question, ProgramQuestion::Schema { name } if name.len() > CallableName::MAX_BYTES)
        {
            return Err(ProtocolError::NameTooLong);
        }
        self.add(id, bytes, host.ask(id, question))
    }

    fn add(
        &mut self,
        id: u64,
        bytes: usize,
        answer: BoxFuture<'a, Result<ToolValue, ToolError>>,
    ) -> Result<(), ProtocolError> {
        if self.pending.contains_key(&id) {
            return Err(ProtocolError::DuplicateId);
        }
        let future: BoxFuture<'a, CompletedCall> = Box::pin(async move { (id, answer.await) });
        let (abort, registration) = AbortHandle::new_pair();
        self.running.push(Abortable::new(future, registration));
        self.pending.insert(id, PendingCall { abort, bytes });
        self.pending_bytes += bytes;
        Ok(())
    }

    fn name(&mut self, name: &str) -> CallableName {
        match &self.last_name {
            Some(last) if last.as_str() == name => last.clone(),
            _ => self.last_name.insert(CallableName::new(name)).clone(),
        }
    }

    /// Cancels a call or a question.
    pub(crate) fn cancel(&mut self, id: u64) {
        if let Some(pending) = self.remove(id) {
            pending.abort.abort();
        }
    }

    fn remove(&mut self, id: u64) -> Option<PendingCall> {
        let pending = self.pending.remove(&id)?;
        self.pending_bytes = self.pending_bytes.saturating_sub(pending.bytes);
        Some(pending)
    }

    /// The next answer; `None` if there are no unanswered calls.
    pub(crate) async fn next(&mut self) -> Option<CompletedCall> {
        loop {
            if let Ok(answered) = self.running.next().await? {
                self.remove(answered.0);
                return Some(answered);
            }
        }
    }
}

/// The arguments of a call, which must be a JSON object.
fn parse_object(arguments: &str) -> Result<Box<RawValue>, ProtocolError> {
    if !arguments.trim_ascii_start().starts_with('{') {
        return Err(ProtocolError::ArgumentsNotObject);
    }
    RawValue::from_string(arguments.to_owned()).map_err(|_| ProtocolError::ArgumentsNotJson)
}
