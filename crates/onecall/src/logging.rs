//! Logs go to stderr; stdout belongs to the protocol and to programs.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
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
use crate::telemetry::Exporter;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines to read, with colours on a terminal.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// Without `--log` and `RUST_LOG`, only what needs attention is shown; where many clients
/// are served, a line for every program too.
fn default(command: &Command) -> String {
    match command {
        Command::Serve(http) if http.is_wanted() => format!("warn,{RUN_LOG_TARGET}=info"),
        // It reports everything itself.
        Command::Doctor { .. } => "off".to_owned(),
        _ => "warn".to_owned(),
    }
}

/// Starts logging as `--log` says, else `RUST_LOG`, else the default of `command`; and has
/// spans exported, if they are to be.
pub(crate) fn start(
    global: &Global,
    command: &Command,
    exporter: Option<&Exporter>,
) -> anyhow::Result<()> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let directives = global.log.clone().or(from_environment).unwrap_or_else(|| default(command));
    let filter = EnvFilter::try_new(&directives)
        .map_err(|error| anyhow::anyhow!("'{directives}' is not a log level or filter: {error}"))?;
    let filter = filter.and(filter_fn(move |metadata| is_line(metadata, &directives)));
    let lines = fmt::layer().with_writer(io::stderr).with_target(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match global.log_format {
        LogFormat::Human => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(colours).with_filter(filter).boxed()
        }
        LogFormat::Json => {
            let json = lines.json().flatten_event(true);
            json.with_current_span(false).with_span_list(false).with_filter(filter).boxed()
        }
    };
    let layers: Vec<_> = exporter.map(Exporter::layer).into_iter().chain([lines]).collect();
    tracing_subscriber::registry().with(layers).init();
    Ok(())
}

/// Spans are for collectors: a line says itself what it is about. In detail, the libraries
/// below us log whole messages, programs and results; they do if they are asked by name.
fn is_line(metadata: &Metadata<'_>, directives: &str) -> bool {
    let library = metadata.target().split("::").next().unwrap_or_default();
    let is_brief = *metadata.level() <= Level::INFO;
    metadata.is_event()
        && (is_brief || library.starts_with("onecall") || directives.contains(library))
}

/// What a command says itself, whatever the log level. Among lines of JSON it is one.
pub(crate) fn announce(format: LogFormat, message: &str) {
    match format {
        LogFormat::Human => say(message),
        LogFormat::Json => say_as_json("INFO", message),
    }
}

/// Why a command could not be carried out.
pub(crate) fn complain(format: LogFormat, message: &str) {
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
