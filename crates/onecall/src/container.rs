//! What is different in a container image of onecall: its log goes to stdout, one JSON object per
//! line, where container engines and their collectors expect it.

use std::io;

use crate::cli::{Cli, Command};
use crate::logging::LogFormat;

/// The variable that the image sets.
const VARIABLE: &str = "ONECALL_CONTAINER";

/// Applies the defaults of a container to `serve --http`. Other commands, which people run in the
/// container by hand, stay as they are; so does `serve` on stdio, whose stdout is the protocol.
///
/// # Errors
/// If stdout cannot take the place of stderr.
pub(crate) fn apply_defaults(cli: &mut Cli) -> io::Result<()> {
    let is_server = matches!(&cli.command, Command::Serve(http) if http.is_wanted());
    if !is_server || std::env::var_os(VARIABLE).is_none_or(|value| value.is_empty()) {
        return Ok(());
    }
    cli.global.log_format.get_or_insert(LogFormat::Json);
    // Everything that is written to stderr belongs to the log: a panic, and the message of a failure.
    rustix::stdio::dup2_stderr(io::stdout())?;
    Ok(())
}
