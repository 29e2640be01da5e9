//! Files of clients that nobody has thought of: what is put in and taken out leaves every
//! byte as it was, and whatever a file holds, nothing panics.

mod hostile;
mod round_trip;
mod sequences;

use proptest::test_runner::Config;

fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
