//! The stored form of values, which does not depend on the database.

pub(crate) mod journal_events;
pub(crate) mod journal_values;
pub(crate) mod names;
pub(crate) mod record_journals;

use std::fs::File;
use std::io::{self, Read};

/// The name of the key by which request states are sealed.
pub(crate) const SEALING_KEY: &str = "sealing_key";

pub(crate) fn random_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

/// A count as databases store it.
pub(crate) fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as Rust code uses it.
pub(crate) fn to_u64(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
