//! A cache of the schemas that were parsed most recently, so that programs that use the same tools
//! find them parsed. The oldest ones are evicted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// The largest number of cached schemas, and the total length of their texts.
const MAX_COUNT: usize = 1_000;
const MAX_BYTES: usize = 4 * 1024 * 1024;

static RECENT: Mutex<RecentSchemas> =
    Mutex::new(RecentSchemas { values: VecDeque::new(), bytes: 0 });

struct RecentSchemas {
    /// The cached values, oldest first, each with the length of its text.
    values: VecDeque<(Arc<Value>, usize)>,
    bytes: usize,
}

/// Adds a parsed schema to the cache.
pub(super) fn insert(value: &Arc<Value>, bytes: usize) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let evicted = recent.push(Arc::clone(value), bytes);
    // Dropping a large value takes long, so the lock is released first.
    drop(recent);
    drop(evicted);
}

impl RecentSchemas {
    /// Adds a value and returns those that it evicts. The newest value is never evicted.
    fn push(&mut self, value: Arc<Value>, bytes: usize) -> Vec<Arc<Value>> {
        self.values.push_back((value, bytes));
        self.bytes += bytes;
        let mut evicted = Vec::new();
        while self.values.len() > 1 && (self.values.len() > MAX_COUNT || self.bytes > MAX_BYTES) {
            let Some((value, bytes)) = self.values.pop_front() else { break };
            self.bytes -= bytes;
            evicted.push(value);
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_too_large_ones() {
        let mut recent = RecentSchemas { values: VecDeque::new(), bytes: 0 };
        let value = || Arc::new(Value::Null);
        for _ in 0..MAX_COUNT {
            assert!(recent.push(value(), 1).is_empty());
        }
        assert_eq!(recent.push(value(), 1).len(), 1);
        assert_eq!(recent.push(value(), 2 * MAX_BYTES).len(), MAX_COUNT);
        assert_eq!((recent.values.len(), recent.bytes), (1, 2 * MAX_BYTES));
        assert_eq!(recent.push(value(), 1).len(), 1);
        assert_eq!((recent.values.len(), recent.bytes), (1, 1));
    }
}
