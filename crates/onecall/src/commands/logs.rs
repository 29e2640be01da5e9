//! `onecall logs`: shows the log files, and follows them.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use dialoguer::console::style;
use onecall_config::Logs;
use onecall_core::nearest::nearest;
use onecall_core::text::{visible, visible_json, visible_line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::Global;
use crate::commands::note;
use crate::commands::own_file::OwnFile;
use crate::logs::{Entry, LogFolder, Source, Tail};
use crate::terminal::print_styled;

/// How often the files are checked for new lines.
const INTERVAL: Duration = Duration::from_millis(200);

/// What `onecall logs` takes.
#[derive(Args, Debug)]
pub(crate) struct LogsArguments {
    /// Only what is about this server; without it, everything in the order of time
    server: Option<String>,
    /// Go on with what is written, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// How many of the last lines to show
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 50)]
    lines: usize,
    /// Only what gateways say that is not about one of your servers
    #[arg(long, conflicts_with = "server")]
    gateway: bool,
    /// Print every line as a JSON object: time, pid, server, source, level, message
    #[arg(long)]
    json: bool,
    /// Print where the file of the server is, or the folder of all, and show nothing
    #[arg(long, conflicts_with_all = ["follow", "lines", "json"])]
    path: bool,
}

/// Shows the last lines, and follows the files if requested.
pub(crate) fn logs(arguments: &LogsArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let folder = LogFolder::of_user()
        .context("there is no place for logs: neither XDG_STATE_HOME nor HOME is set")?;
    let wanted = Wanted::of(arguments, &folder, global)?;
    if arguments.path {
        let path = match &wanted {
            Wanted::All => folder.path().to_owned(),
            Wanted::Gateway => folder.gateway(),
            Wanted::Server(name) => folder.server(name),
        };
        print_styled(&format!("{}\n", visible_line(&path.display().to_string())))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut tails: Vec<Tail> = wanted.files(&folder).into_iter().map(Tail::new).collect();
    let mut entries: Vec<Entry> =
        tails.iter_mut().flat_map(|tail| tail.begin(arguments.lines)).collect();
    if entries.is_empty() && arguments.lines > 0 {
        note(&wanted.absence(&folder, global));
    }
    sort(&mut entries);
    let first = entries.len().saturating_sub(arguments.lines);
    print(entries.split_off(first), arguments.json)?;
    while arguments.follow && is_read()? {
        for path in wanted.files(&folder) {
            if !tails.iter().any(|tail| *tail.path() == path) {
                tails.push(Tail::new(path));
            }
        }
        let mut entries: Vec<Entry> = tails.iter_mut().flat_map(Tail::more).collect();
        sort(&mut entries);
        print(entries, arguments.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which logs are shown.
enum Wanted {
    All,
    Gateway,
    Server(String),
}

impl Wanted {
    /// The logs that the command line asks for. A server must be configured, or have logs.
    fn of(arguments: &LogsArguments, folder: &LogFolder, global: &Global) -> anyhow::Result<Self> {
        let Some(name) = &arguments.server else {
            return Ok(if arguments.gateway { Self::Gateway } else { Self::All });
        };
        let mut known = folder.server_names();
        // Logs must be readable even if the configuration is invalid.
        let configured = OwnFile::find(global).and_then(|own| own.servers()).unwrap_or_default();
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
        if global.loaded().is_ok_and(|loaded| loaded.config.logs == Logs::Off) {
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
fn sort(entries: &mut [Entry]) {
    entries.sort_by(|a, b| a.time.cmp(&b.time));
}

/// Waits for the interval; returns whether stdout still has a reader.
fn is_read() -> io::Result<bool> {
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

fn print(entries: Vec<Entry>, as_json: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    for entry in &entries {
        if as_json {
            text.push_str(&visible_json(&serde_json::to_string(entry)?));
        } else {
            text.push_str(&shown(entry));
        }
        text.push('\n');
    }
    Ok(print_styled(&text)?)
}

/// An entry as text for a person. Further lines of a message are indented, so that they cannot be
/// mistaken for another entry.
fn shown(entry: &Entry) -> String {
    let Entry { time, pid, server, source, level, message } = entry;
    let name = visible_line(server.as_deref().unwrap_or("gateway")).into_owned();
    let level = visible_line(level);
    let label = match source {
        Source::Stderr => "stderr".to_owned(),
        Source::Log => format!("log {level}"),
        Source::Gateway => level.to_string(),
    };
    let label = match level.as_ref() {
        "warn" | "warning" => style(label).yellow(),
        "error" | "critical" | "alert" | "emergency" => style(label).red(),
        _ => style(label),
    };
    let message = visible(message).replace('\n', "\n    ");
    format!("{} {}[{pid}] {label}: {message}", style(visible_line(time)).dim(), style(name).cyan())
}
