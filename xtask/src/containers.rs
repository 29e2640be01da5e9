//! Runs every attack again in emulations of a container, which takes minutes.

use testkit::cargo::{self, cargo};

/// Runs the tests; arguments are passed to the test binary, as with `cargo test -- ARGS`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    cargo::build_binaries()?;
    let mut test = cargo("test");
    test.args(["--workspace", "--test", "it", "--", "--ignored", "--nocapture"]);
    test.arg("every_attack_fails_in_every_container").args(arguments);
    cargo::run(test)
}
