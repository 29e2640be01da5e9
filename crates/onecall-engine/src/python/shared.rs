//! Strings of a document that come again and again, made once: the keys of a table's rows,
//! and what stands in a column that has few different values.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use rustpython_vm::builtins::PyStr;
use rustpython_vm::{PyRef, VirtualMachine};

/// Distinct keys that are shared.
const MOST_KEYS: usize = 256;

/// Values that are remembered, and the longest of them.
const VALUES: usize = 512;
const LONGEST_VALUE: usize = 32;

/// A shorter document is not worth a table of values.
const SHORTEST_DOCUMENT: usize = 4 * 1024;

/// The keys of a document's objects.
#[derive(Default)]
pub(super) struct Keys {
    known: Vec<Key>,
    places: HashMap<String, usize>,
    /// Where the key before this one is.
    last: usize,
}

struct Key {
    text: PyRef<PyStr>,
    /// Where the key is that came after it, and will again if this is a table.
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

/// Short strings that came lately, each where its hash says: one may displace another.
pub(super) struct Values(Vec<Option<PyRef<PyStr>>>);

impl Values {
    /// For a document of so many bytes.
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
