//! Conditions on the arguments of a system call.

use std::mem::offset_of;

use libc::seccomp_data;

/// A condition on 32 bits of an argument. The kernel treats nearly all arguments as an `int` or as low flags and
/// ignores the upper half, as this does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    argument: usize,
    half: Half,
    /// The bits that count.
    pub(super) mask: u32,
    /// What these bits are compared with.
    pub(super) value: u32,
    /// Whether they have to be equal; otherwise they have to be different.
    pub(super) is_equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Lower,
    Upper,
}

impl Condition {
    /// The argument's bits under `mask` are `value`.
    pub(super) fn masked(argument: usize, mask: u32, value: u32) -> Self {
        Self { argument, half: Half::Lower, mask, value, is_equal: true }
    }

    /// The argument is `value`.
    pub(super) fn equal(argument: usize, value: u32) -> Self {
        Self::masked(argument, u32::MAX, value)
    }

    /// The argument is not `value`.
    pub(super) fn different(argument: usize, value: u32) -> Self {
        Self { is_equal: false, ..Self::equal(argument, value) }
    }

    /// The argument is a null pointer.
    pub(super) fn null(argument: usize) -> [Self; 2] {
        let lower = Self::equal(argument, 0);
        [lower, Self { half: Half::Upper, ..lower }]
    }

    /// Where the 32 bits are in what a filter can see.
    pub(super) fn offset(self) -> usize {
        let is_second = match self.half {
            Half::Lower => cfg!(target_endian = "big"),
            Half::Upper => cfg!(target_endian = "little"),
        };
        offset_of!(seccomp_data, args) + 8 * self.argument + if is_second { 4 } else { 0 }
    }
}

/// Alternatives that accept any of `values` for the argument.
pub(super) fn one_of(argument: usize, values: &[u32]) -> Vec<Vec<Condition>> {
    values.iter().map(|value| vec![Condition::equal(argument, *value)]).collect()
}
