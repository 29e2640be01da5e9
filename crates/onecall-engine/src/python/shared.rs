//! Shares strings that occur many times in a document, such as the keys of a table's rows and the
//! values of a column with few different ones.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use rustpython_vm::builtins::PyStr;
use rustpython_vm::{PyRef, VirtualMachine};

/// How many different keys are shared.
const MOST_KEYS: usize = 256;

/// How many values are remembered (`VALUES`), and the length in bytes of the longest one
/// (`LONGEST_VALUE`).
const VALUES: usize = 512;
const LONGEST_VALUE: usize = 32;

/// In a shorter document, values are not shared.
const SHORTEST_DOCUMENT: usize = 4 * 1024;

/// The keys of the objects in a document.
#[derive(Default)]
pub(super) struct Keys {
    known: Vec<Key>,
    places: HashMap<String, usize>,
    /// The index of the previous key.
    last: usize,
}

struct Key {
    text: PyRef<PyStr>,
    /// The index of the key that followed this one last time, and will again in a table.
    next: usize,
}

impl Keys {
    pub(super) fn get(&mut self, text: &str, vm: &VirtualMachine) -> PyRef<PyStr> {
        let expected = self.known.get(self.last).map_or(0, |last| last.next);
        if let Some(key) = self.known.get(expected)
            && key.text.as_bytes() == text.as_bytes()
        {
            self.last = expected;
            return key.text.clone();
        }
        let place = match self.places.get(text) {
            Some(place) => *place,
            None if self.known.len() < MOST_KEYS => {
                let place = self.known.len();
                self.known.push(Key { text: vm.ctx.new_str(text), next: 0 });
                self.places.insert(text.to_owned(), place);
                place
            }
            None => return vm.ctx.new_str(text),
        };
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = place;
        }
        self.last = place;
        self.known.get(place).map_or_else(|| vm.ctx.new_str(text), |key| key.text.clone())
    }
}

/// Recently used short strings, indexed by their hash; one may replace another.
pub(super) struct Values(Vec<Option<PyRef<PyStr>>>);

impl Values {
    /// Creates the table for a document of so many bytes.
    pub(super) fn of(document: usize) -> Self {
        Self(if document < SHORTEST_DOCUMENT { Vec::new() } else { vec![None; VALUES] })
    }

    pub(super) fn get(&mut self, text: &str, vm: &VirtualMachine) -> PyRef<PyStr> {
        let Some(slot) = self.slot(text) else { return vm.ctx.new_str(text) };
        match slot {
            Some(known) if known.as_bytes() == text.as_bytes() => known.clone(),
            _ => slot.insert(vm.ctx.new_str(text)).clone(),
        }
    }

    fn slot(&mut self, text: &str) -> Option<&mut Option<PyRef<PyStr>>> {
        if self.0.is_empty() || text.len() > LONGEST_VALUE {
            return None;
        }
        let hash = usize::try_from(FixedState::default().hash_one(text) >> 32).ok()?;
        self.0.get_mut(hash % VALUES)
    }
}
