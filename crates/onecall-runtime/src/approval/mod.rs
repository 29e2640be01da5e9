//! Approvals: asks people about the calls of a run. The gateway provides the desk that reaches people;
//! `layers/approval.rs` decides what becomes of a call.

mod asking;
mod desk;

use std::sync::Arc;

use onecall_catalog::ask_rule;
use onecall_core::{AskPolicy, AskRule, ToolSpec};

pub(crate) use asking::Asking;
pub use desk::{ApprovalDesk, DeskError};

/// Which calls need an approval, and the desk that asks for it.
#[derive(Clone)]
pub(crate) struct Approvals {
    pub(crate) policy: AskPolicy,
    pub(crate) desk: Arc<dyn ApprovalDesk>,
}

impl Approvals {
    /// The rule by which a call of this tool needs an approval; `None` if it needs none.
    pub(crate) fn rule(&self, spec: &ToolSpec) -> Option<AskRule> {
        ask_rule(&self.policy, spec)
    }
}
