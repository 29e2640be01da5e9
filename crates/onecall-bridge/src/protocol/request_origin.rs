//! The call that a request to a server is made for.

use std::sync::Arc;

use onecall_core::{CallableName, Caller};

/// The call that a request belongs to, and who made it.
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
