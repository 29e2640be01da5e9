//! Damage to bytes that were valid, for the properties of several crates: what comes
//! out is nearly right, and so gets further into a parser than noise would.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Bytes that mean something to one of our parsers.
const LOUD: &[u8] = b"\0\x01\x7f\x80\xff\n\r\t \"'\\{}[]:,-#&*!|>%@`$~?=09eE.+nt";

#[derive(Clone, Debug)]
enum Mutation {
    FlipBit(Index, u8),
    Insert(Index, Vec<u8>),
    Overwrite(Index, Vec<u8>),
    Remove(Index, Index),
    Truncate(Index),
    /// Copies a part of the bytes to another place.
    Splice(Index, Index, Index),
}

/// What `valid` generates, damaged in a few places.
pub(crate) fn mutated(valid: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (valid, vec(mutation(), 1..6)).prop_map(|(bytes, mutations)| {
        mutations.iter().fold(bytes, |bytes, mutation| mutation.apply(bytes))
    })
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    let bytes = || {
        prop_oneof![
            4 => vec(select(LOUD), 1..4),
            2 => vec(any::<u8>(), 1..12),
            1 => any::<char>().prop_map(|character| character.to_string().into_bytes()),
            1 => any::<u32>().prop_map(|number| number.to_le_bytes().to_vec()),
            1 => (select(LOUD), 1..300_usize).prop_map(|(byte, count)| vec![byte; count]),
        ]
    };
    prop_oneof![
        (place(), 0..8_u8).prop_map(|(at, bit)| Mutation::FlipBit(at, bit)),
        (place(), bytes()).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (place(), bytes()).prop_map(|(at, bytes)| Mutation::Overwrite(at, bytes)),
        (place(), place()).prop_map(|(one, other)| Mutation::Remove(one, other)),
        place().prop_map(Mutation::Truncate),
        (place(), place(), place()).prop_map(|(one, other, to)| Mutation::Splice(one, other, to)),
    ]
}

impl Mutation {
    fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let place = |index: &Index| index.index(bytes.len() + 1);
        match self {
            Self::FlipBit(at, bit) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Insert(at, new) => {
                let at = place(at);
                bytes.splice(at..at, new.iter().copied());
            }
            Self::Overwrite(at, new) => {
                let at = place(at);
                let end = (at + new.len()).min(bytes.len());
                bytes.splice(at..end, new.iter().copied());
            }
            Self::Remove(one, other) => {
                let (start, end) = ordered(place(one), place(other));
                bytes.drain(start..end);
            }
            Self::Truncate(at) => bytes.truncate(place(at)),
            Self::Splice(one, other, to) => {
                let (start, end) = ordered(place(one), place(other));
                let to = place(to);
                let part = bytes[start..end].to_vec();
                bytes.splice(to..to, part);
            }
        }
        bytes
    }
}

fn ordered(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
