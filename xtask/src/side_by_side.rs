//! Compares the results of programs on onecall with those on a plain in-process server; see
//! `tests/side-by-side`.

use std::process::Command;

use testkit::cargo::{self, root};
use testkit::packages::venv;

use crate::test;

const HELP: &str = "\
Usage: cargo xtask side-by-side [--record [THEME]...]

  --record  first store the reference's answers to the programs of these themes, or of all, and
            onecall's to those that say why that is better; read what changes before you commit it
";

/// Runs only the comparison.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (record, themes) = match arguments.split_first() {
        None => (false, arguments),
        Some((first, themes)) if first == "--record" => (true, themes),
        Some((first, _)) if first == "--help" => {
            eprint!("{HELP}");
            return Ok(());
        }
        Some((unknown, _)) => return Err(format!("unknown argument '{unknown}'\n\n{HELP}")),
    };
    let sdk = venv::install("sdk-1")?;
    cargo::build_binaries()?;
    let mut variables = vec![("ONECALL_INTEROP_SDK_1", sdk.clone())];
    if record {
        let mut reference = Command::new(sdk.join("bin/python"));
        reference.arg(root().join("tests/side-by-side/record.py")).args(themes);
        cargo::run(reference)?;
        variables.push(("ONECALL_SIDE_BY_SIDE_STORE", "1".into()));
    }
    test::run_modules(&["side_by_side::"], &[], &variables)
}
