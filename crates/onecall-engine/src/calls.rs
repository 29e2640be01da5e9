//! The tool calls of one program that are under way.

use std::collections::HashMap;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use onecall_core::{
    BoxFuture, CallableName, Freshness, ProgramHost, ToolCall, ToolError, ToolValue,
};
use serde_json::value::RawValue;

/// Calls of one program that the gateway holds at once, under way or waiting for
/// their turn; the program's socket is not read while there are more.
const MAX_HELD: usize = 1024;

/// Bytes of arguments held likewise.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;

/// No tool has a longer name.
pub(crate) const LONGEST_NAME: usize = 4 * 1024;

/// A call's id and how it ended.
type Answered = (u64, Result<ToolValue, ToolError>);

/// The calls of one program that are not answered yet.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    running: FuturesUnordered<Abortable<BoxFuture<'a, Answered>>>,
    held: HashMap<u64, Held>,
    held_bytes: usize,
    /// The name that was called last; it is often the next one, too.
    last_name: Option<CallableName>,
}

struct Held {
    abort: AbortHandle,
    bytes: usize,
}

impl<'a> Calls<'a> {
    /// Whether another call may be taken from the program.
    pub(crate) fn has_room(&self) -> bool {
        self.held.len() < MAX_HELD && self.held_bytes < MAX_HELD_BYTES
    }

    /// Starts a call. What no honest worker sends is an error.
    pub(crate) fn start(
        &mut self,
        id: u64,
        name: &str,
        arguments: &str,
        freshness: Freshness,
        host: &'a dyn ProgramHost,
    ) -> Result<(), &'static str> {
        if self.held.contains_key(&id) {
            return Err("a call with the id of another");
        }
        if name.len() > LONGEST_NAME {
            return Err("a call of a name that no tool has");
        }
        let bytes = name.len() + arguments.len();
        if !arguments.trim_ascii_start().starts_with('{') {
            return Err("arguments that are not a JSON object");
        }
        let arguments = RawValue::from_string(arguments.to_owned())
            .map_err(|_| "arguments that are not JSON")?;
        let call = ToolCall { id, name: self.name(name), arguments, freshness };
        let future: BoxFuture<'a, Answered> = Box::pin(async move { (id, host.call(call).await) });
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

    /// Gives a call up.
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

    /// The next answer; `None` if no call is running.
    pub(crate) async fn next(&mut self) -> Option<Answered> {
        loop {
            if let Ok(answered) = self.running.next().await? {
                self.release(answered.0);
                return Some(answered);
            }
        }
    }
}
