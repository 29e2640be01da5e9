//! Executes a command in an emulation of a container; see `testkit::container`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use testkit::container::Container;

fn main() -> ExitCode {
    let message = match Container::parse(std::env::args_os().skip(1)) {
        Ok((container, command)) => execute(&container, &command),
        Err(message) => message,
    };
    #[expect(clippy::print_stderr, reason = "the launcher has no other way to say what is wrong")]
    {
        eprintln!("container: {message}");
    }
    ExitCode::from(125)
}

/// Replaces this process by the command; returns why that failed.
fn execute(container: &Container, command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else {
        return "no command".to_owned();
    };
    match container.enter() {
        Ok(()) => {
            let error = Command::new(program).args(arguments).exec();
            format!("{}: {error}", program.display())
        }
        Err(message) => message,
    }
}
