//! The schemas that were parsed last. They stay in memory, so that programs that use the same
//! tools find them parsed, and are forgotten once enough others have come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Schemas that are kept, and how long their texts may be together.
const MAX_COUNT: usize = 1_000;
const MAX_BYTES: usize = 4 * 1024 * 1024;

static RECENT: Mutex<Recent> = Mutex::new(Recent { values: VecDeque::new(), bytes: 0 });

struct Recent {
    /// Oldest first, each with the length of its text.
    values: VecDeque<(Arc<Value>, usize)>,
    bytes: usize,
}

/// Keeps a parsed schema for a while.
pub(super) fn keep(value: &Arc<Value>, bytes: usize) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let forgotten = recent.push(Arc::clone(value), bytes);
    // Large ones take long to go.
    drop(recent);
    drop(forgotten);
}

impl Recent {
    /// Adds a value and takes out those that have no room any more; the last one always has.
    fn push(&mut self, value: Arc<Value>, bytes: usize) -> Vec<Arc<Value>> {
        self.values.push_back((value, bytes));
        self.bytes += bytes;
        let mut forgotten = Vec::new();
        while self.values.len() > 1 && (self.values.len() > MAX_COUNT || self.bytes > MAX_BYTES) {
            let Some((value, bytes)) = self.values.pop_front() else { break };
            self.bytes -= bytes;
            forgotten.push(value);
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_too_large_ones() {
        let mut recent = Recent { values: VecDeque::new(), bytes: 0 };
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
