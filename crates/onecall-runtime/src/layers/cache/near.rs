//! In-memory copies of answers that were recently read from the store. They are valid as long as
//! the store has not been written to.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use onecall_core::ToolSpec;
use onecall_core::storage::{AnswerKey, StoredAnswer, Version};

use super::key::Key;

/// The size limit of all copies, and below it that of one copy, in bytes.
const MOST: usize = 16 * 1024 * 1024;
const LARGEST: usize = MOST / 8;

/// The copies; all were read at the same version of the store.
#[derive(Default)]
pub(super) struct Near {
    version: Option<Version>,
    copies: HashMap<Arc<Key>, Copied, RandomState>,
    bytes: usize,
}

/// A copied answer, with the tool definition it belongs to.
#[derive(Clone)]
pub(super) struct Copied {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) hash: AnswerKey,
    pub(super) answer: StoredAnswer,
}

impl Near {
    /// The version of the store that the copies were read from; `None` if there are none.
    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    pub(super) fn get(&self, key: &Key, spec: &Arc<ToolSpec>) -> Option<&Copied> {
        let is_same = |copied: &&Copied| Arc::ptr_eq(&copied.spec, spec) || copied.spec == *spec;
        self.copies.get(key).filter(is_same)
    }

    /// Adds a copy of an answer that was read when the store was at `version`. The
    /// earlier copies are dropped if they are of another version, or if there is no room.
    pub(super) fn put(&mut self, version: Version, key: &Arc<Key>, copied: Copied) {
        let size = key.bytes() + copied.answer.value.size();
        if size > LARGEST {
            return;
        }
        if self.version != Some(version) || self.bytes + size > MOST {
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
