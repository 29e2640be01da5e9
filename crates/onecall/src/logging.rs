//! Logs go to stderr; stdout belongs to the protocol and to programs.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Without `--log` and `RUST_LOG`, only what needs attention is shown.
const DEFAULT: &str = "warn";

/// Starts logging as `--log` says, else `RUST_LOG`, else warnings.
pub(crate) fn start(level: Option<&str>) -> anyhow::Result<()> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let directives = level.or(from_environment.as_deref()).unwrap_or(DEFAULT);
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| anyhow::anyhow!("'{directives}' is not a log level or filter: {error}"))?;
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colours)
        .with_target(false)
        .init();
    Ok(())
}
