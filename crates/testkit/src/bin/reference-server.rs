//! The server that the MCP conformance suite expects; see `testkit::reference`.

use std::process::ExitCode;

use testkit::reference;

fn main() -> ExitCode {
    match reference::run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the reason goes to the log of the gateway")]
            {
                eprintln!("reference-server: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
