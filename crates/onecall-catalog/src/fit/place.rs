//! The position of a value in the arguments.

use std::fmt;

use super::known::cut;

/// The path to a value. It is only formatted if there is a problem, because nearly every value is
/// valid.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    /// All arguments.
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
