//! Conditions on the arguments of a system call.

use std::io;

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// The argument's 32 bits, under `mask`, are `value`.
pub(super) fn masked(argument: u8, mask: u64, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// The argument's 32 bits are `value`.
pub(super) fn equal(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Eq, value)
}

/// The argument's 32 bits are not `value`.
pub(super) fn different(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Ne, value)
}

/// The argument is a pointer to nothing.
pub(super) fn null(argument: u8) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
        .map_err(io::Error::other)
}

/// The argument's 32 bits are one of `values`.
pub(super) fn one_of(argument: u8, values: &[u64]) -> io::Result<Vec<SeccompRule>> {
    values.iter().map(|value| rule(vec![equal(argument, *value)?])).collect()
}

/// All of the conditions at once.
pub(super) fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// Every argument tested so is an `int` or a set of low flags to the kernel, which
/// ignores the upper half as this does.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(io::Error::other)
}
