//! The person who looks at the page, and what this person may see and do.

use std::sync::Arc;

use onecall_core::storage::{DurableRun, RunSummary};
use onecall_core::{Principal, UserName};

/// The person who looks at the page.
#[derive(Clone)]
pub(super) struct Viewer {
    /// The user. Tools are shown and called as this user may call them.
    pub(super) principal: Arc<Principal>,
    /// The name under which answers and calls are noted.
    pub(super) name: String,
    /// Which runs this person sees.
    pub(super) reach: Reach,
}

/// Which runs, questions and audit rows a person sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of all users.
    Everyone,
    /// Only the person's own.
    Own,
}

impl Viewer {
    /// The person whose process this is, or who has the token of a gateway without users.
    pub(super) fn local(name: &str) -> Self {
        let principal = Arc::new(Principal::local());
        Self { principal, name: name.to_owned(), reach: Reach::Everyone }
    }

    /// A user of a gateway.
    pub(super) fn user(principal: Arc<Principal>, reach: Reach) -> Self {
        let name = principal.user.to_string();
        Self { principal, name, reach }
    }

    /// Whether this person sees what belongs to `user`.
    pub(super) fn sees(&self, user: &UserName) -> bool {
        self.reach == Reach::Everyone || self.principal.user == *user
    }

    pub(super) fn sees_run(&self, run: &RunSummary) -> bool {
        self.sees(&run.user)
    }

    pub(super) fn sees_durable(&self, run: &DurableRun) -> bool {
        self.sees(&run.principal.user)
    }

    /// The user that lists are limited to, if this person does not see those of everyone.
    pub(super) fn only_user(&self) -> Option<UserName> {
        (self.reach == Reach::Own).then(|| self.principal.user.clone())
    }
}
