//! What onecall is compared with: a Python interpreter that executes programs in its own process,
//! and servers of other projects.

mod peer;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::cargo::root;
use testkit::rpc::BareClient;

use super::rounds::timed;
pub use peer::Peer;

/// The `python3` of this machine.
pub struct Python {
    program: PathBuf,
    pub version: String,
}

impl Python {
    /// Finds it on `PATH`.
    pub fn find() -> Result<Self, String> {
        // The `python3` of a version manager is a script that is slower than Python itself, so the
        // interpreter reports its real path.
        let code = "import platform, sys; print(platform.python_version()); print(sys.executable)";
        let output = Command::new("python3").args(["-c", code]).output();
        let output = output.map_err(|error| format!("python3 cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().map(str::to_owned);
        match (lines.next(), lines.next()) {
            (Some(version), Some(program)) => Ok(Self { program: program.into(), version }),
            _ => Err("python3 does not run".to_owned()),
        }
    }

    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Starts a new interpreter that prints hello; returns the seconds.
    pub fn hello_in_new_process(&self) -> Result<f64, String> {
        let mut command = self.command();
        command.args(["-c", "print('hello')"]).stdin(Stdio::null());
        let (output, seconds) = timed(|| command.output());
        match output {
            Ok(output) if output.stdout == b"hello\n" => Ok(seconds),
            _ => Err("python3 did not print hello".to_owned()),
        }
    }

    /// A process that executes programs in itself, with a server to call if one is given.
    pub fn executor(&self, downstream: Option<&Path>) -> Executor {
        let mut command = self.command();
        command.arg(script("exec_server.py")).args(downstream);
        Executor(BareClient::spawn(command))
    }
}

/// A Python process that executes the programs it is sent.
pub struct Executor(BareClient);

impl Executor {
    /// Runs a program, which must print exactly `expected`; returns the seconds.
    pub fn run(&mut self, code: &str, expected: &str) -> Result<f64, String> {
        let line = serde_json::Value::from(code).to_string();
        let (answer, seconds) = timed(|| self.0.call_raw(&line));
        match serde_json::from_str::<String>(answer) {
            Ok(output) if output.trim_end() == expected => Ok(seconds),
            _ => Err(format!("printed {answer} instead of '{expected}'")),
        }
    }
}

fn script(name: &str) -> PathBuf {
    root().join("crates/bench/src/peers").join(name)
}
