//! The fixture MCP server; see `testkit::fixture` for its tools and flags.

use std::process::ExitCode;

use testkit::fixture::{self, Options};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => fixture::run(options),
        Err(message) => {
            #[expect(
                clippy::print_stderr,
                reason = "the error for a wrong flag goes to the terminal"
            )]
            {
                eprintln!("fixture-server: {message}");
            }
            ExitCode::from(2)
        }
    }
}
