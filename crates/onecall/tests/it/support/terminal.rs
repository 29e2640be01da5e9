//! Commands on a terminal of their own, as a person sees them.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use testkit::process::{Process, descendants, wait_until};

use super::TIMEOUT;
use super::screen::{COLUMNS, Screen};

/// A command whose stdin, stdout and stderr are one terminal.
pub struct Terminal {
    process: Child,
    keyboard: ChildStdin,
    output: ChildStdout,
    /// Everything that has been read from the terminal so far.
    written: Vec<u8>,
}

impl Terminal {
    /// Starts `command` with its arguments, environment and working directory.
    pub fn start(command: &Command) -> Self {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let quoted = words.map(|word| format!("'{}'", word.to_str().expect("UTF-8")));
        let line = quoted.collect::<Vec<_>>().join(" ");
        let line = format!("stty cols {COLUMNS} rows 40; exec {line}");
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env_clear().env("TERM", "xterm");
        script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            script.current_dir(folder);
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = script.spawn().expect("`script` is installed");
        let keyboard = process.stdin.take().expect("stdin is piped");
        let output = process.stdout.take().expect("stdout is piped");
        Self { process, keyboard, output, written: Vec::new() }
    }

    /// Types `keys`; `\x03` is Ctrl-C.
    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Waits until the command reads single keys. A key that is typed before is shown on the screen.
    pub fn wait_for_key_reading(&self) {
        let reads_keys = |process: &Process| {
            let terminal = format!("/proc/{}/fd/0", process.pid);
            let stty = Command::new("stty").args(["-F", &terminal, "-a"]).output();
            stty.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("-icanon"))
        };
        let script = self.process.id();
        let is_there = || descendants(script).iter().any(reads_keys);
        assert!(wait_until(TIMEOUT, is_there), "the command reads no keys");
    }

    /// What appears up to `end`, or all there is if `end` never comes.
    pub fn read_until(&mut self, end: &str) -> String {
        let start = self.written.len();
        while !self.written[start..].ends_with(end.as_bytes()) && self.read_byte() {}
        String::from_utf8(self.written[start..].to_vec()).expect("UTF-8")
    }

    /// Reads until the screen is as `is_awaited` wants it.
    pub fn wait_for_screen(&mut self, is_awaited: impl Fn(&Screen) -> bool) {
        let mut piece = [0; 4096];
        while !is_awaited(&Screen::of(&self.written())) {
            let count = self.output.read(&mut piece).expect("output");
            assert!(count > 0, "the command ended too early:\n{}", Screen::of(&self.written()));
            self.written.extend(&piece[..count]);
        }
    }

    /// Everything that the command has written so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }

    /// Waits until the command ends, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.output.read_to_end(&mut self.written).expect("output");
        self.process.wait().expect("it ends").code()
    }

    /// What appears until the command ends, and its exit code.
    pub fn finish(mut self) -> (String, Option<i32>) {
        let start = self.written.len();
        let code = self.wait();
        (String::from_utf8(self.written.split_off(start)).expect("UTF-8"), code)
    }

    /// Reads one byte; `false` at the end.
    fn read_byte(&mut self) -> bool {
        let mut byte = [0];
        let is_read = self.output.read(&mut byte).expect("output") == 1;
        self.written.extend(is_read.then_some(byte[0]));
        is_read
    }
}
