//! Ensures that no server outlives the gateway, even if the gateway is killed. A small separate
//! process, the guard, holds the reading end of a pipe and knows every process group that was
//! started; when the pipe closes, it stops the groups that are still registered.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, getpgrp, kill_process_group, setsid, test_kill_process_group};
use tracing::warn;

/// How long a group may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// The interval at which the exit is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The gateway's handle to the guard. It is cheap to clone; the guard acts when the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Mutex<Option<ChildStdin>>>);

impl Guard {
    /// Starts the guard, with an empty environment. `command` must end up in [`run_guard`].
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // The guard needs no environment variables, and servers could read them from its process.
        command.env_clear();
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        if let Some(pipe) = &stdin {
            // A guard that hangs must not block the gateway.
            fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        // The guard is not awaited: it outlives the gateway by design.
        Ok(Self(Arc::new(Mutex::new(stdin))))
    }

    /// No guard: if the gateway is killed, its servers keep running. For tests.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    /// Registers a process group, which is stopped if the gateway ends before
    /// [`unregister`](Self::unregister).
    pub fn register(&self, group: Pid) {
        self.send('+', group);
    }

    /// Unregisters a process group that has exited, because its id may be reused.
    pub fn unregister(&self, group: Pid) {
        self.send('-', group);
    }

    fn send(&self, sign: char, group: Pid) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stdin) = pipe.as_mut() else { return };
        // A write of a few bytes to a pipe is atomic.
        let line = format!("{sign}{}\n", group.as_raw_nonzero());
        if let Err(error) = stdin.write_all(line.as_bytes()) {
            *pipe = None;
            warn!(%error, "the process guard has ended: if onecall is killed now, its servers keep running; restart onecall");
        }
    }
}

/// The main function of the guard: waits until its stdin closes, then stops every group that is
/// still registered. Uses no threads and no runtime.
///
/// # Errors
/// None at present; whatever fails, the guard still tries to stop the rest.
pub fn run_guard() -> io::Result<()> {
    // Protects the guard from signals to the gateway's process group, such as Ctrl-C. It fails only
    // if the guard already leads a group, which has the same effect.
    let _ = setsid();
    let groups = read_registrations(io::stdin().lock());
    stop_groups(groups);
    Ok(())
}

/// Reads registrations until the end of `input`; returns the groups that are still registered.
fn read_registrations(mut input: impl BufRead) -> HashSet<Pid> {
    let own = getpgrp();
    let mut groups = HashSet::new();
    let mut line = Vec::new();
    // A read error means the same as the end of the input: the gateway is gone.
    while let Ok(1..) = input.read_until(b'\n', &mut line) {
        match parse(&line) {
            Some((b'+', group)) if group != own => {
                groups.insert(group);
            }
            Some((b'-', group)) => {
                groups.remove(&group);
            }
            _ => {}
        }
        line.clear();
    }
    groups
}

/// Parses a sign and a process group. Group 1 is that of init, and an incomplete number could be
/// any group.
fn parse(line: &[u8]) -> Option<(u8, Pid)> {
    let (&sign, number) = line.strip_suffix(b"\n")?.split_first()?;
    let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((sign, Pid::from_raw(number).filter(|_| number > 1)?))
}

fn stop_groups(mut groups: HashSet<Pid>) {
    let signal = |group: &Pid, signal| kill_process_group(*group, signal).is_ok();
    groups.retain(|group| signal(group, Signal::TERM));
    let deadline = Instant::now() + GRACE;
    while !groups.is_empty() && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
        groups.retain(|group| test_kill_process_group(*group).is_ok());
    }
    groups.retain(|group| signal(group, Signal::KILL));
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Child;

    use super::*;

    fn group(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    fn start(script: &str) -> (Child, Pid) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The script says when it is set up.
        let mut line = String::new();
        io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    #[test]
    fn what_is_registered_and_not_released_is_left() {
        let left = read_registrations(&b"+100\n+200\n-100\n+300\n+200\n-999\n"[..]);
        assert_eq!(left, HashSet::from([group(200), group(300)]));
    }

    #[test]
    fn garbage_and_dangerous_numbers_are_ignored() {
        let own = getpgrp().as_raw_nonzero();
        let input = format!(
            "\n+\n+x\n+1\n+0\n+-5\n100\n*100\n+99999999999\n+ 7\n\u{fffd}\n+{own}\n+200\n+300"
        );
        // The last line has no end, so its number may be cut.
        assert_eq!(read_registrations(input.as_bytes()), HashSet::from([group(200)]));
    }

    #[test]
    fn a_group_is_asked_to_end_and_then_made_to() {
        let (mut willing, first) = start("echo ready; exec sleep 60");
        let (mut stubborn, second) = start("trap '' TERM; echo ready; while :; do sleep 1; done");
        let reaper = thread::spawn(move || willing.wait().unwrap());
        let started = Instant::now();
        stop_groups(HashSet::from([first, second]));
        assert!(started.elapsed() >= GRACE);
        assert_eq!(reaper.join().unwrap().signal(), Some(Signal::TERM.as_raw()));
        assert_eq!(stubborn.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn a_guard_that_is_gone_harms_nobody() {
        let guard = Guard::spawn(Command::new("true")).unwrap();
        while guard.0.lock().unwrap().is_some() {
            guard.register(group(i32::MAX));
            thread::yield_now();
        }
        guard.unregister(group(i32::MAX));
    }
}
