//! Inspects the processes of this machine through `/proc`, to prove that a run leaves none behind.

mod processor_use;

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

pub use processor_use::ProcessorUse;

/// One process as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The parent's process id; 1 (or a subreaper's) if the process is an orphan.
    pub parent: u32,
    /// The process group.
    pub group: u32,
    /// The session.
    pub session: u32,
    /// The letter of the state: `R`, `S`, `Z` for a zombie, ….
    pub state: char,
    /// The command line, joined with spaces.
    pub command: String,
}

impl Process {
    /// Reads one process; `None` if it does not exist (any more).
    #[must_use]
    pub fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = fields_after_name(&stat)?;
        let state = fields.next()?.chars().next()?;
        let mut number = || fields.next()?.parse().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
        Some(Self { pid, parent, group, session, state, command })
    }

    /// Whether it is dead but not yet reaped by its parent.
    #[must_use]
    pub fn is_zombie(&self) -> bool {
        self.state == 'Z'
    }

    /// Bytes of memory that are resident now.
    #[must_use]
    pub fn resident_bytes(&self) -> Option<u64> {
        self.memory("VmRSS:")
    }

    /// The maximum of resident bytes, since its start or since the kernel's counter was reset.
    #[must_use]
    pub fn peak_bytes(&self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    /// Bytes of memory that are resident now and not those of files, such as the code of the program.
    #[must_use]
    pub fn data_bytes(&self) -> Option<u64> {
        Some(self.resident_bytes()?.saturating_sub(self.memory("RssFile:")?))
    }

    /// The maximum of [`data_bytes`](Self::data_bytes), of a process that has now as much of files as it had then.
    #[must_use]
    pub fn peak_data_bytes(&self) -> Option<u64> {
        Some(self.peak_bytes()?.saturating_sub(self.memory("RssFile:")?))
    }

    fn memory(&self, field: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }
}

/// The fields of `/proc/PID/stat` from the state on. The name before it, in parentheses, may itself
/// contain spaces and parentheses.
fn fields_after_name(stat: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_ascii_whitespace())
}

/// Every visible process, including zombies.
#[must_use]
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect()
}

/// The descendants of `pid`. Orphans are not among them: find those with [`in_group`] or
/// [`marked`].
#[must_use]
pub fn descendants(pid: u32) -> Vec<Process> {
    let mut rest = all();
    let mut family = HashSet::from([pid]);
    let mut found = Vec::new();
    loop {
        let (children, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|process| family.contains(&process.parent));
        if children.is_empty() {
            return found;
        }
        family.extend(children.iter().map(|process| process.pid));
        found.extend(children);
        rest = others;
    }
}

/// The living members of a process group.
#[must_use]
pub fn in_group(group: u32) -> Vec<Process> {
    all().into_iter().filter(|process| process.group == group && !process.is_zombie()).collect()
}

/// The living processes, other than this one, that carry `mark` in their
/// command line (such as a unique `--name` of a fixture server) or in their
/// environment (such as the grandchild of that server).
#[must_use]
pub fn marked(mark: &str) -> Vec<Process> {
    all()
        .into_iter()
        .filter(|process| process.pid != std::process::id() && !process.is_zombie())
        .filter(|process| process.command.contains(mark) || environment_contains(process.pid, mark))
        .collect()
}

fn environment_contains(pid: u32, mark: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| String::from_utf8_lossy(&environment).contains(mark))
}

/// Whether `pid` runs: it exists and is not a zombie.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| !process.is_zombie())
}

/// Whether `pid` is the first process of a PID namespace other than this one's.
#[must_use]
pub fn is_first_of_namespace(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_ascii_whitespace().skip(1).last() == Some("1")
}

/// A mark that no other test on this machine uses.
#[must_use]
pub fn unique_mark() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("mark-{}-{}-{number}", std::process::id(), now.as_nanos())
}

/// Polls until `condition` holds; `false` if it does not in time.
pub fn wait_until(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
