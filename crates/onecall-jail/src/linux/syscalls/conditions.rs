//! Conditions on the arguments of a system call.

use std::io;

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// The condition that the argument's 32 bits, under `mask`, are `value`.
pub(super) fn masked(argument: u8, mask: u64, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// The condition that the argument's 32 bits are `value`.
pub(super) fn equal(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Eq, value)
}

/// The condition that the argument's 32 bits are not `value`.
pub(super) fn different(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Ne, value)
}

/// The condition that the argument is a null pointer.
pub(super) fn null(argument: u8) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
        .map_err(io::Error::other)
}

/// Rules that accept any of `values` for the argument's 32 bits.
pub(super) fn one_of(argument: u8, values: &[u64]) -> io::Result<Vec<SeccompRule>> {
    values.iter().map(|value| rule(vec![equal(argument, *value)?])).collect()
}

/// A rule that requires all conditions.
pub(super) fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// A condition on 32 bits. The kernel treats all these arguments as an `int` or as low flags and
/// ignores the upper half, as this does.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(io::Error::other)
}
