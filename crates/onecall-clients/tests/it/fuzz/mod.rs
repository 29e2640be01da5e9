//! Random files of clients: an entry that is added and removed again leaves every
//! byte as it was, and whatever a file holds, nothing panics.

mod hostile;
mod round_trip;
mod sequences;

use proptest::test_runner::Config;

fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
