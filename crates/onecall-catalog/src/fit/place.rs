//! Where in the arguments a value is.

use std::fmt;

use super::known::cut;

/// The way to a value, written out only where something is wrong: nearly every value is right.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    /// All of the arguments.
    Whole,
    Entry(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Entry(around, name) => write!(formatter, "{around}.{}", cut(name)),
            Self::Item(around, index) => write!(formatter, "{around}[{index}]"),
        }
    }
}
