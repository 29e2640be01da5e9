//! In-memory copies of answers that were recently read from the store. They are valid as long as
//! the store has not been written to.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use onecall_core::ToolSpec;
use onecall_core::storage::{AnswerKey, StoreVersion, StoredAnswer};

use super::key::CacheKey;

/// The size limit of all copies, and below it that of one copy, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const MAX_COPY_BYTES: usize = MAX_BYTES / 8;

/// The copies; all were read at the same version of the store.
#[derive(Default)]
pub(super) struct StoreCopies {
    version: Option<StoreVersion>,
    copies: HashMap<Arc<CacheKey>, CopiedAnswer, RandomState>,
    bytes: usize,
}

/// A copied answer, with the tool definition it belongs to.
#[derive(Clone)]
pub(super) struct CopiedAnswer {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) hash: AnswerKey,
    pub(super) answer: StoredAnswer,
}

impl StoreCopies {
    /// The version of the store that the copies were read from; `None` if there are none.
    pub(super) fn version(&self) -> Option<StoreVersion> {
        self.version
    }

    pub(super) fn get(&self, key: &CacheKey, spec: &Arc<ToolSpec>) -> Option<&CopiedAnswer> {
        let is_same =
            |copied: &&CopiedAnswer| Arc::ptr_eq(&copied.spec, spec) || copied.spec == *spec;
        self.copies.get(key).filter(is_same)
    }

    /// Adds a copy of an answer that was read when the store was at `version`. The
    /// earlier copies are dropped if they are of another version, or if there is no room.
    pub(super) fn insert(
        &mut self,
        version: StoreVersion,
        key: &Arc<CacheKey>,
        copied: CopiedAnswer,
    ) {
        let size = key.bytes() + copied.answer.value.size();
        if size > MAX_COPY_BYTES {
            return;
        }
        if self.version != Some(version) || self.bytes + size > MAX_BYTES {
            self.clear();
        }
        self.version = Some(version);
        self.bytes += size;
        self.copies.insert(Arc::clone(key), copied);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
