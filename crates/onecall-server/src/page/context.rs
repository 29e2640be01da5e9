//! What a page is made from: the store, the gateway as the reader sees it, and the request.

use std::sync::{Arc, OnceLock};

use maud::{Markup, html};
use onecall_core::storage::{CompleteStore, QuestionFilter, StoredQuestion};
use onecall_core::{RunId, Timestamp};
use onecall_gateway::Gateway;
use onecall_runtime::Redactor;

use super::error::PageError;
use super::fields::Fields;
use super::run::Replayer;
use super::viewer::{Reach, Viewer};

/// What a page is made from.
pub(super) struct PageContext {
    pub(super) store: Arc<dyn CompleteStore>,
    /// The gateway as the reader sees it.
    pub(super) gateway: Arc<Gateway>,
    pub(super) viewer: Viewer,
    /// Whether the reader's browser runs on this machine, because only this machine reaches the page.
    pub(super) is_here: bool,
    /// Runs recorded programs again.
    pub(super) replayer: Arc<dyn Replayer>,
    /// The first segment of the path, which names the part of the page.
    pub(super) part: String,
    /// The path and the query that were asked for.
    pub(super) address: String,
    pub(super) query: Fields,
    pub(super) form: Fields,
    /// The value of the hidden field of forms.
    pub(super) check: String,
    pub(super) now: Timestamp,
    /// Removes the secrets of the configuration from what is shown.
    pub(super) redactor: Redactor,
    /// How many questions wait, once they were counted.
    pub(super) open: OnceLock<usize>,
}

impl PageContext {
    /// The hidden field by which a form shows that it comes from this page.
    pub(super) fn form_check(&self) -> Markup {
        html! { input type="hidden" name="check" value=(self.check); }
    }

    /// How many questions wait for the reader; 0 if the store cannot be read.
    pub(super) fn open_questions(&self) -> usize {
        *self.open.get_or_init(|| self.questions().map_or(0, |questions| questions.len()))
    }

    /// The open questions that the reader sees, oldest first.
    pub(super) fn questions(&self) -> Result<Vec<StoredQuestion>, PageError> {
        let user = self.viewer.only_user();
        let filter = QuestionFilter { open: true, user, ..QuestionFilter::default() };
        Ok(self.store.questions(&filter)?)
    }

    /// Whether the reader sees a durable run. A run that is not stored is not seen.
    pub(super) fn sees_durable_run(&self, run: &RunId) -> Result<bool, PageError> {
        if self.viewer.reach == Reach::Everyone {
            return Ok(true);
        }
        let stored = self.store.durable_run(run)?;
        Ok(stored.is_some_and(|stored| self.viewer.sees_durable(&stored)))
    }

    /// A text without the secrets of the configuration.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.redactor.redact(text.to_owned())
    }

    /// Whether the reader sees what belongs to all users.
    pub(super) fn sees_everyone(&self) -> bool {
        self.viewer.reach == Reach::Everyone
    }
}
