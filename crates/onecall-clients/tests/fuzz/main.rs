//! Files of clients that nobody has thought of: what is put in and taken out leaves every
//! byte as it was, and whatever a file holds, nothing panics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod hostile;
mod round_trip;
mod sequences;

use proptest::test_runner::Config;

fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
