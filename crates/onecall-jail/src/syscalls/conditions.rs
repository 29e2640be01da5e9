//! Conditions on the arguments of a system call.

use std::io;

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// The argument's 32 bits, under `mask`, are `value`.
pub(super) fn masked(argument: u8, mask: u64, value: u64) -> io::Result<SeccompRule> {
    rule(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// The argument's 32 bits are `value`.
pub(super) fn equal(argument: u8, value: u64) -> io::Result<SeccompRule> {
    rule(argument, SeccompCmpOp::Eq, value)
}

/// The argument's 32 bits are one of `values`.
pub(super) fn one_of(argument: u8, values: &[u64]) -> io::Result<Vec<SeccompRule>> {
    values.iter().map(|value| equal(argument, *value)).collect()
}

/// Every argument tested here is an `int` or a set of low flags to the kernel, which
/// ignores the upper half as this does.
fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}
