//! Shares strings that occur many times in a document, such as the keys of a table's rows and the
//! values of a column with few different ones.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use rustpython_vm::builtins::PyStr;
use rustpython_vm::{PyRef, VirtualMachine};

/// How many different keys are shared.
const MAX_KEYS: usize = 256;

/// How many values are remembered (`MAX_VALUES`), and the length in bytes of the longest one
/// (`MAX_VALUE_LENGTH`).
const MAX_VALUES: usize = 512;
const MAX_VALUE_LENGTH: usize = 32;

/// In a shorter document, values are not shared.
const MIN_DOCUMENT_LENGTH: usize = 4 * 1024;

/// The keys of the objects in a document.
#[derive(Default)]
pub(super) struct InternedKeys {
    known: Vec<InternedKey>,
    positions: HashMap<String, usize>,
    /// The index of the previous key.
    last: usize,
}

struct InternedKey {
    text: PyRef<PyStr>,
    /// The index of the key that followed this one last time, and will again in a table.
    next: usize,
}

impl InternedKeys {
    pub(super) fn get(&mut self, text: &str, vm: &VirtualMachine) -> PyRef<PyStr> {
        let expected = self.known.get(self.last).map_or(0, |last| last.next);
        if let Some(key) = self.known.get(expected)
            && key.text.as_bytes() == text.as_bytes()
        {
            self.last = expected;
            return key.text.clone();
        }
        let position = match self.positions.get(text) {
            Some(position) => *position,
            None if self.known.len() < MAX_KEYS => {
                let position = self.known.len();
                self.known.push(InternedKey { text: vm.ctx.new_str(text), next: 0 });
                self.positions.insert(text.to_owned(), position);
                position
            }
            None => return vm.ctx.new_str(text),
        };
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = position;
        }
        self.last = position;
        self.known.get(position).map_or_else(|| vm.ctx.new_str(text), |key| key.text.clone())
    }
}

/// Recently used short strings, indexed by their hash; one may replace another.
pub(super) struct InternedValues(Vec<Option<PyRef<PyStr>>>);

impl InternedValues {
    /// Creates the table for a document of so many bytes.
    pub(super) fn of(document: usize) -> Self {
        Self(if document < MIN_DOCUMENT_LENGTH { Vec::new() } else { vec![None; MAX_VALUES] })
    }

    pub(super) fn get(&mut self, text: &str, vm: &VirtualMachine) -> PyRef<PyStr> {
        let Some(slot) = self.slot(text) else { return vm.ctx.new_str(text) };
        match slot {
            Some(known) if known.as_bytes() == text.as_bytes() => known.clone(),
            _ => slot.insert(vm.ctx.new_str(text)).clone(),
        }
    }

    fn slot(&mut self, text: &str) -> Option<&mut Option<PyRef<PyStr>>> {
        if self.0.is_empty() || text.len() > MAX_VALUE_LENGTH {
            return None;
        }
        let hash = usize::try_from(FixedState::default().hash_one(text) >> 32).ok()?;
        self.0.get_mut(hash % MAX_VALUES)
    }
}
