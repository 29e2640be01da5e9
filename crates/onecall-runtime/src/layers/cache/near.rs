//! Copies of what was lately read from the store, which hold while nobody writes to it.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use onecall_core::ToolSpec;
use onecall_core::storage::{AnswerKey, StoredAnswer, Version};

use super::key::Key;

/// Bytes of copies in all, and of one of them.
const MOST: usize = 16 * 1024 * 1024;
const LARGEST: usize = MOST / 8;

/// The copies, all of the same moment.
#[derive(Default)]
pub(super) struct Near {
    version: Option<Version>,
    copies: HashMap<Arc<Key>, Copied, RandomState>,
    bytes: usize,
}

/// An answer, and what makes it one.
#[derive(Clone)]
pub(super) struct Copied {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) hash: AnswerKey,
    pub(super) answer: StoredAnswer,
}

impl Near {
    /// What the store had when the copies were made; nothing if there are none.
    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    pub(super) fn get(&self, key: &Key, spec: &Arc<ToolSpec>) -> Option<&Copied> {
        let is_same = |copied: &&Copied| Arc::ptr_eq(&copied.spec, spec) || copied.spec == *spec;
        self.copies.get(key).filter(is_same)
    }

    /// Keeps a copy of what was read when the store was at `version`.
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
