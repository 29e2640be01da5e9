//! The commands of this repository: `cargo xtask demo | test | interop | conformance | fuzz |
//! bench | soak | tokens`.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a developer reads what this says, and keeps what the benchmark prints"
)]

mod bench;
mod cargo;
mod client;
mod conformance;
mod demo;
mod fuzz;
mod interop;
mod node;
mod soak;
mod test;
mod tokens;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask <COMMAND>

  demo         build onecall and show its main job on built-in data
  test         run the whole test suite, formatting and lints aside
  interop      run the part of it that needs published MCP servers and clients
  conformance  run the part of it that is the MCP conformance suite, against both of our sides
  fuzz         look for input that breaks a property, for ten minutes (see fuzz --help)
  bench        measure onecall against bare calls and its peers, in one run (see bench --help)
  soak         load it for minutes while things break, and say what broke (see soak --help)
  tokens       count what a model reads with direct calls and with onecall (see tokens --help)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", &[][..]),
    };
    let result = match command {
        "demo" => demo::run(),
        "test" => test::run(rest),
        "interop" => interop::run(rest),
        "conformance" => test::conformance(),
        "conformance-client" => conformance::client(rest),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "soak" => soak::run(rest),
        "tokens" => tokens::run(rest),
        "--help" | "-h" | "help" => {
            eprint!("{HELP}");
            Ok(())
        }
        unknown => Err(format!("unknown command '{unknown}'\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
