//! One service of a workplace as an MCP server; see `testkit::workplace`.

use std::process::ExitCode;

use testkit::workplace::{self, Options};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => workplace::run(&options),
        Err(message) => {
            #[expect(
                clippy::print_stderr,
                reason = "the error for a wrong flag goes to the terminal"
            )]
            {
                eprintln!("workplace-server: {message}");
            }
            ExitCode::from(2)
        }
    }
}
