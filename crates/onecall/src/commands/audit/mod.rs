//! `onecall audit`: lists the rows of the audit trail, checks the trail, and prints its newest digest.

mod list;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use onecall_core::ToolPattern;
use onecall_core::storage::{AuditTrail, ExpectedHead};

use crate::cli::Global;
use crate::commands::note;
use crate::terminal::print;
use crate::time_span::parse_time_span;
use crate::{setup, store};

/// What `onecall audit` takes.
#[derive(Args, Debug)]
pub(crate) struct AuditArguments {
    /// Show only rows of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Show only rows about these tools, as in 'mcp__github__*'
    #[arg(long, value_name = "PATTERN", value_parser = parse_pattern)]
    tool: Option<ToolPattern>,
    /// Show only rows of this run: its id, or the beginning of it
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Show only rows of the last 30m, 2h or 7d, for example
    #[arg(long, value_name = "SPAN", value_parser = parse_time_span)]
    since: Option<Duration>,
    /// Show only rows that deny a call
    #[arg(long)]
    denied: bool,
    /// Show at most this many rows
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<AuditCommand>,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Check that no row was changed, removed, inserted or moved
    #[command(after_help = "\
Each row contains the digest of the row before it, so a change anywhere is found. A person who can
write the file of the store can compute all digests anew. To find that, too, keep what
`onecall audit head` prints in another place, and compare it here: all rows up to that one are then
proven to be unchanged.

Examples:
  onecall audit verify
  onecall audit verify --expect 1027:5f7c…

Exit codes: 0 the trail is intact, 1 it is not, 2 it cannot be read")]
    Verify {
        /// What `onecall audit head` printed earlier: a row must still have this digest
        #[arg(long, value_name = "HEAD")]
        expect: Option<ExpectedHead>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the number and the digest of the newest row
    #[command(after_help = "\
Example:
  onecall audit head | ssh backup 'cat >> audit-heads'

Exit codes: 0 there is a row, 1 there is none, 2 the trail cannot be read")]
    Head,
}

/// Lists rows, or runs a subcommand.
pub(crate) fn audit(arguments: AuditArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let trail = store::open(&loaded.config)?;
    match arguments.command {
        None => list::list(trail.as_ref(), arguments),
        Some(AuditCommand::Verify { expect, json }) => verify::verify(&*trail, expect, json),
        Some(AuditCommand::Head) => head(&*trail),
    }
}

fn head(trail: &dyn AuditTrail) -> anyhow::Result<ExitCode> {
    match trail.audit_head()? {
        Some(head) => {
            print(&format!("{head}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            note("The audit trail is empty");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn parse_pattern(text: &str) -> Result<ToolPattern, String> {
    ToolPattern::parse(text).map_err(|error| error.to_string())
}
