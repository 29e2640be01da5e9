//! The parts of the page, in the order of the navigation. A part appears where its feature is in use.

use super::context::PageContext;

/// A part of the page.
pub(super) struct Part {
    /// The first segment of its addresses.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Whether the part is there for the reader.
    pub(super) is_shown: fn(&PageContext) -> bool,
}

impl Part {
    pub(super) fn address(&self) -> String {
        format!("/page/{}", self.name)
    }
}

/// All parts.
pub(super) const PARTS: &[Part] = &[
    Part { name: "", title: "Overview", is_shown: |_| true },
    Part { name: "runs", title: "Runs", is_shown: |_| true },
    Part { name: "inbox", title: "Inbox", is_shown: has_approvals },
    Part { name: "servers", title: "Servers", is_shown: |_| true },
    Part { name: "tools", title: "Tools", is_shown: |_| true },
    Part { name: "users", title: "Users", is_shown: has_users },
    Part { name: "policy", title: "Policy", is_shown: super::policy::is_shown },
    Part { name: "audit", title: "Audit", is_shown: |context| context.gateway.audit().is_some() },
];

/// Calls can wait for a person, or one waits that another gateway has asked about.
fn has_approvals(context: &PageContext) -> bool {
    context.gateway.approvals().is_some() || context.open_questions() > 0
}

fn has_users(context: &PageContext) -> bool {
    context.gateway.has_users() && context.sees_everyone()
}
