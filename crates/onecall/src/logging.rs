//! Starts logging to stderr and to files (see `logs`). Stdout belongs to the protocol and to
//! programs.

use clap::ValueEnum;
use onecall_bridge::{AVAILABILITY_LOG_TARGET, LIFECYCLE_LOG_TARGET};
use onecall_runtime::RUN_LOG_TARGET;
use serde_json::json;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use crate::cli::{Command, Global};
use crate::commands::say;
use crate::logs::Collector;
use crate::telemetry::Exporter;
use crate::terminal::Stderr;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines to read, with colours on a terminal.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// The default log filter, without `--log` and `RUST_LOG`: warnings, or only errors with `--quiet`;
/// a server for many clients also logs one line for every program. Commands that end by themselves
/// report failed servers once, in their own output.
fn default_filter(global: &Global, command: &Command) -> String {
    match command {
        _ if global.quiet => "error".to_owned(),
        Command::Serve(http) if http.is_wanted() => format!("warn,{RUN_LOG_TARGET}=info"),
        // It reports everything itself.
        Command::Doctor { .. } => "off".to_owned(),
        Command::Serve(_) | Command::Exec(_) | Command::Calls => "warn".to_owned(),
        _ => format!("warn,{AVAILABILITY_LOG_TARGET}=off"),
    }
}

/// Starts logging as `--log` says, or `RUST_LOG`, or the default for `command`; also exports spans
/// if that is configured.
pub(crate) fn start(
    global: &Global,
    command: &Command,
    exporter: Option<&Exporter>,
) -> anyhow::Result<()> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let directives =
        global.log.clone().or(from_environment).unwrap_or_else(|| default_filter(global, command));
    let filter = EnvFilter::try_new(&directives)
        .map_err(|error| anyhow::anyhow!("'{directives}' is not a log level or filter: {error}"))?;
    let filter = filter.and(filter_fn(move |metadata| is_line(metadata, &directives)));
    let lines = fmt::layer().with_writer(|| Stderr).with_target(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match global.log_format() {
        LogFormat::Human => {
            lines.with_ansi(global.color.is_on_for_stderr()).with_filter(filter).boxed()
        }
        LogFormat::Json => {
            let json = lines.json().flatten_event(true);
            json.with_current_span(false).with_span_list(false).with_filter(filter).boxed()
        }
    };
    let files = Collector::layer();
    let layers: Vec<_> = exporter.map(Exporter::layer).into_iter().chain([lines, files]).collect();
    tracing_subscriber::registry().with(layers).init();
    Ok(())
}

/// Whether an event becomes a log line on stderr. Spans do not, because they are for collectors.
/// Libraries log whole messages, programs and results at detailed levels, so those are logged only
/// if a directive names the library. The log of a server's life is for files; other lines say the
/// same.
fn is_line(metadata: &Metadata<'_>, directives: &str) -> bool {
    let library = metadata.target().split("::").next().unwrap_or_default();
    let is_brief = *metadata.level() <= Level::INFO;
    metadata.is_event()
        && metadata.target() != LIFECYCLE_LOG_TARGET
        && (is_brief || library.starts_with("onecall") || directives.contains(library))
}

/// Prints a message of the command regardless of the log level; in JSON format as a JSON line.
pub(crate) fn announce(format: LogFormat, message: &str) {
    match format {
        LogFormat::Human => say(message),
        LogFormat::Json => say_as_json("INFO", message),
    }
}

/// Prints why a command failed.
pub(crate) fn report_error(format: LogFormat, message: &str) {
    match format {
        LogFormat::Human => say(&format!("error: {message}")),
        LogFormat::Json => say_as_json("ERROR", message),
    }
}

fn say_as_json(level: &str, message: &str) {
    let mut timestamp = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    say(&json!({ "timestamp": timestamp, "level": level, "message": message }).to_string());
}
