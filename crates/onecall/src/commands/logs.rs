//! `onecall logs`: shows the log files, and follows them.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use dialoguer::console::style;
use onecall_config::LogFiles;
use onecall_core::nearest::nearest;
use onecall_core::text::{visible, visible_json, visible_line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::Global;
use crate::commands::editable_config::EditableConfig;
use crate::commands::note;
use crate::logs::{EntrySource, LogFileEntry, LogFolder, Tail};
use crate::terminal::print_styled;

/// How often the files are checked for new lines.
const INTERVAL: Duration = Duration::from_millis(200);

/// What `onecall logs` takes.
#[derive(Args, Debug)]
pub(crate) struct LogsArguments {
    /// Show only lines about this server [default: all lines, in the order of time]
    server: Option<String>,
    /// Keep showing new lines as they are written, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// Show this many of the last lines
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 50)]
    lines: usize,
    /// Show only lines of gateways that are not about one of your servers
    #[arg(long, conflicts_with = "server")]
    gateway: bool,
    /// Print every line as a JSON object: time, pid, server, source, level, message
    #[arg(long)]
    json: bool,
    /// Print the path of the server's log file, or of the folder with all logs, instead of the
    /// lines
    #[arg(long, conflicts_with_all = ["follow", "lines", "json"])]
    path: bool,
}

/// Shows the last lines, and follows the files if requested.
pub(crate) fn logs(arguments: &LogsArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let folder = LogFolder::of_user().context(
        "onecall cannot find your state directory, where the logs are: set HOME or XDG_STATE_HOME",
    )?;
    let selection = LogSelection::of(arguments, &folder, global)?;
    if arguments.path {
        let path = match &selection {
            LogSelection::All => folder.path().to_owned(),
            LogSelection::Gateway => folder.gateway(),
            LogSelection::Server(name) => folder.server(name),
        };
        print_styled(&format!("{}\n", visible_line(&path.display().to_string())))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut tails: Vec<Tail> = selection.files(&folder).into_iter().map(Tail::new).collect();
    let mut entries: Vec<LogFileEntry> =
        tails.iter_mut().flat_map(|tail| tail.last_entries(arguments.lines)).collect();
    if entries.is_empty() && arguments.lines > 0 {
        note(&selection.absence(&folder, global));
    }
    sort(&mut entries);
    let first = entries.len().saturating_sub(arguments.lines);
    print(entries.split_off(first), arguments.json)?;
    while arguments.follow && wait_while_read()? {
        for path in selection.files(&folder) {
            if !tails.iter().any(|tail| *tail.path() == path) {
                tails.push(Tail::new(path));
            }
        }
        let mut entries: Vec<LogFileEntry> = tails.iter_mut().flat_map(Tail::new_entries).collect();
        sort(&mut entries);
        print(entries, arguments.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which logs are shown.
enum LogSelection {
    All,
    Gateway,
    Server(String),
}

impl LogSelection {
    /// The logs that the command line asks for. A server must be configured, or have logs.
    fn of(arguments: &LogsArguments, folder: &LogFolder, global: &Global) -> anyhow::Result<Self> {
        let Some(name) = &arguments.server else {
            return Ok(if arguments.gateway { Self::Gateway } else { Self::All });
        };
        let mut known = folder.server_names();
        // Logs must be readable even if the configuration is invalid.
        let configured =
            EditableConfig::find(global).and_then(|own| own.servers()).unwrap_or_default();
        known.extend(configured.into_iter().map(|server| server.name));
        if known.contains(name) || folder.server(name).exists() {
            return Ok(Self::Server(name.clone()));
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        match nearest(name, known.iter().copied()) {
            Some(meant) => bail!("there is no server '{name}'; did you mean '{meant}'?"),
            None if known.is_empty() => bail!("there is no server '{name}'; none are configured"),
            None => bail!("there is no server '{name}'; there is {}", known.join(", ")),
        }
    }

    fn files(&self, folder: &LogFolder) -> Vec<PathBuf> {
        match self {
            Self::All => folder.files(),
            Self::Gateway => vec![folder.gateway()],
            Self::Server(name) => vec![folder.server(name)],
        }
    }

    /// Explains why there is nothing to show.
    fn absence(&self, folder: &LogFolder, global: &Global) -> String {
        let of = match self {
            Self::All => String::new(),
            Self::Gateway => " of gateways".to_owned(),
            Self::Server(name) => format!(" of '{name}'"),
        };
        if global.loaded().is_ok_and(|loaded| loaded.config.logs == LogFiles::Off) {
            return format!("There are no logs{of}: the configuration has `logs: off`");
        }
        format!(
            "There are no logs{of} yet. They are written to {} when `onecall serve` or another \
             command starts servers",
            folder.path().display()
        )
    }
}

/// Sorts entries by time; entries of the same moment keep their order.
fn sort(entries: &mut [LogFileEntry]) {
    entries.sort_by(|a, b| a.time.cmp(&b.time));
}

/// Waits for the interval; returns whether stdout still has a reader.
pub(super) fn wait_while_read() -> io::Result<bool> {
    let stdout = io::stdout();
    let interval = Timespec::try_from(INTERVAL).map_err(io::Error::other)?;
    // No event is requested: a closed reader is always reported.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    match poll(&mut watched, Some(&interval)) {
        // Interrupted, for example by being stopped and continued.
        Err(Errno::INTR) => return Ok(true),
        polled => polled?,
    };
    let [watched] = watched;
    Ok(!watched.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL))
}

fn print(entries: Vec<LogFileEntry>, as_json: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    for entry in &entries {
        if as_json {
            text.push_str(&visible_json(&serde_json::to_string(entry)?));
        } else {
            text.push_str(&entry_text(entry));
        }
        text.push('\n');
    }
    Ok(print_styled(&text)?)
}

/// An entry as text for a person. Further lines of a message are indented, so that they cannot be
/// mistaken for another entry.
fn entry_text(entry: &LogFileEntry) -> String {
    let LogFileEntry { time, pid, server, source, level, message } = entry;
    let name = visible_line(server.as_deref().unwrap_or("gateway")).into_owned();
    let level = visible_line(level);
    let label = match source {
        EntrySource::Stderr => "stderr".to_owned(),
        EntrySource::Log => format!("log {level}"),
        EntrySource::Gateway => level.to_string(),
    };
    let label = match level.as_ref() {
        "warn" | "warning" => style(label).yellow(),
        "error" | "critical" | "alert" | "emergency" => style(label).red(),
        _ => style(label),
    };
    let message = visible(message).replace('\n', "\n    ");
    format!("{} {}[{pid}] {label}: {message}", style(visible_line(time)).dim(), style(name).cyan())
}
