//! The position of a value in the arguments.

use std::fmt;

use super::partial_value::shorten;

/// The path to a value. It is only formatted if there is a problem, because nearly every value is
/// valid.
#[derive(Clone, Copy)]
pub(super) enum ValuePath<'p> {
    /// All arguments.
    Root,
    Entry(&'p ValuePath<'p>, &'p str),
    Item(&'p ValuePath<'p>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Entry(parent, name) => write!(formatter, "{parent}.{}", shorten(name)),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}
