//! Options of a run that are not part of the program, plan or call.

use std::sync::Arc;

use crate::Journal;

/// Options of a run. The default is a run without a journal.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// The journal of the run, if it can be continued in another process or is replayed. The run has the
    /// id of the journal. A run that can be continued is recorded when it ends; if the future of the run
    /// is dropped before that, it is not recorded and its questions stay open. A replay is not recorded.
    pub journal: Option<Arc<Journal>>,
}

impl RunOptions {
    /// A run with this journal.
    #[must_use]
    pub fn journalled(journal: Arc<Journal>) -> Self {
        Self { journal: Some(journal) }
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }
}
