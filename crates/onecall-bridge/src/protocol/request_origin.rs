//! The call that a request to a server is made for. It connects progress reports and questions of
//! the server to the client behind the call.

use std::sync::Arc;

use onecall_core::{CallableName, Caller};

/// The call that a request belongs to, and the client that made it.
#[derive(Clone, Debug)]
pub(crate) struct RequestOrigin {
    pub name: CallableName,
    pub caller: Arc<Caller>,
}

impl RequestOrigin {
    pub fn of(name: &CallableName, caller: Option<&Arc<Caller>>) -> Option<Self> {
        caller.map(|caller| Self { name: name.clone(), caller: Arc::clone(caller) })
    }
}
