//! The unanswered calls and questions of one program.

use std::collections::HashMap;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use onecall_core::{
    BoxFuture, CallableName, Freshness, NodeCall, ProgramHost, ProgramQuestion, ToolCall,
    ToolError, ToolValue,
};
use serde_json::value::RawValue;

use crate::protocol::ProtocolError;

/// How many calls and questions of one program the gateway holds at once, running or queued. While
/// there are more, the program's socket is not read.
const MAX_HELD: usize = 1024;

/// How many bytes of arguments and questions it holds at once.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;

/// The id of a call or question, and its result.
type Answered = (u64, Result<ToolValue, ToolError>);

/// The unanswered calls and questions of one program. Their ids are unique.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    running: FuturesUnordered<Abortable<BoxFuture<'a, Answered>>>,
    held: HashMap<u64, Held>,
    held_bytes: usize,
    /// The name that was called last; the next call often has the same one.
    last_name: Option<CallableName>,
}

struct Held {
    abort: AbortHandle,
    bytes: usize,
}

impl<'a> Calls<'a> {
    /// Whether another call or question may be accepted from the program.
    pub(crate) fn has_room(&self) -> bool {
        self.held.len() < MAX_HELD && self.held_bytes < MAX_HELD_BYTES
    }

    /// Starts a call. An error means that the worker has violated the protocol.
    pub(crate) fn start(
        &mut self,
        id: u64,
        name: &str,
        arguments: &str,
        freshness: Freshness,
        host: &'a dyn ProgramHost,
    ) -> Result<(), ProtocolError> {
        if name.len() > CallableName::LONGEST {
            return Err(ProtocolError::UnheardName);
        }
        let bytes = name.len() + arguments.len();
        let arguments = object(arguments)?;
        let call = ToolCall { id, name: self.name(name), arguments, freshness };
        self.hold(id, bytes, host.call(call))
    }

    /// Starts a call of a plan's node. An error means that the worker has violated the protocol.
    pub(crate) fn start_node(
        &mut self,
        id: u64,
        node: u32,
        arguments: &str,
        host: &'a dyn ProgramHost,
    ) -> Result<(), ProtocolError> {
        let bytes = arguments.len();
        // A number that does not fit becomes one that no plan has.
        let node = usize::try_from(node).unwrap_or(usize::MAX);
        let call = NodeCall { id, node, arguments: object(arguments)? };
        self.hold(id, bytes, host.call_node(call))
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
            serde_json::from_str(question).map_err(|_| ProtocolError::NoQuestion)?;
        if matches!(&question, ProgramQuestion::Schema { name } if name.len() > CallableName::LONGEST)
        {
            return Err(ProtocolError::UnheardName);
        }
        self.hold(id, bytes, host.ask(question))
    }

    fn hold(
        &mut self,
        id: u64,
        bytes: usize,
        answer: BoxFuture<'a, Result<ToolValue, ToolError>>,
    ) -> Result<(), ProtocolError> {
        if self.held.contains_key(&id) {
            return Err(ProtocolError::RepeatedId);
        }
        let future: BoxFuture<'a, Answered> = Box::pin(async move { (id, answer.await) });
        let (abort, registration) = AbortHandle::new_pair();
        self.running.push(Abortable::new(future, registration));
        self.held.insert(id, Held { abort, bytes });
        self.held_bytes += bytes;
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
        if let Some(held) = self.release(id) {
            held.abort.abort();
        }
    }

    fn release(&mut self, id: u64) -> Option<Held> {
        let held = self.held.remove(&id)?;
        self.held_bytes = self.held_bytes.saturating_sub(held.bytes);
        Some(held)
    }

    /// The next answer; `None` if there are no unanswered calls.
    pub(crate) async fn next(&mut self) -> Option<Answered> {
        loop {
            if let Ok(answered) = self.running.next().await? {
                self.release(answered.0);
                return Some(answered);
            }
        }
    }
}

/// The arguments of a call, which must be a JSON object.
fn object(arguments: &str) -> Result<Box<RawValue>, ProtocolError> {
    if !arguments.trim_ascii_start().starts_with('{') {
        return Err(ProtocolError::NoObject);
    }
    RawValue::from_string(arguments.to_owned()).map_err(|_| ProtocolError::NoJson)
}
