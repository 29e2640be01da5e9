//! `onecall approvals`: lists the calls that wait for a person, and answers them.

mod answer;
mod grants;
mod json;
mod list;
mod selection;
mod show;
mod verdict;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use onecall_core::Timestamp;
use onecall_core::storage::{DurableStore, QuestionFilter};
use onecall_core::text::visible_line;
use onecall_gateway::redactor;
use onecall_runtime::Redactor;

use self::answer::answer;
pub(crate) use self::show::answered;
use self::verdict::{ApproveArguments, DenyArguments};
use crate::cli::Global;
use crate::setup;
use crate::store;
use crate::terminal::print;

/// What `onecall approvals` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait for an approval, oldest first
    #[command(after_help = "\
Examples:
  onecall approvals list
  onecall approvals list --json | jq -r '.[] | .id + \" \" + .tool'")]
    List {
        /// Include questions that were answered or withdrawn
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show everything about a question: the call, its arguments, the rule, the answer
    #[command(after_help = "\
Examples:
  onecall approvals show 1m7g7r5ga39rv3.2
  onecall approvals show 1m7g")]
    Show {
        /// The id of a question or of a run, or the beginning of one
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve calls that wait
    #[command(after_help = "\
An id is that of a question, or of a run for all its open questions; the beginning is enough. A
running gateway continues the program at once. With --arguments, the call is made with other
arguments than the program gave.

If the gateway ended while a call was under way, nobody knows whether the call happened. Look at
what it should have done, and answer with --happened and its result, or with --not-happened to make
the call now; `onecall approvals deny --give-up` ends the run instead.

Examples:
  onecall approvals approve 1m7g7r5ga39rv3.2
  onecall approvals approve 1m7g --for-run
  onecall approvals approve 1m7g.2 --until 7d --where folder=drafts
  onecall approvals approve 1m7g.2 --arguments '{\"id\": 7}'
  onecall approvals approve 1m7g.2 --happened '{\"deleted\": true}'
  onecall approvals approve --all

Exit codes: 0 every answer counts, 1 one does not, 2 the command line or the store cannot be used")]
    Approve(ApproveArguments),
    /// Deny calls that wait: the program gets an error that it can catch
    #[command(after_help = "\
Examples:
  onecall approvals deny 1m7g7r5ga39rv3.2 --reason 'keep the drafts of this week'
  onecall approvals deny --all
  onecall approvals deny 1m7g.2 --give-up

Exit codes: 0 every answer counts, 1 one does not, 2 the command line or the store cannot be used")]
    Deny(DenyArguments),
    /// List the approvals that cover later calls
    #[command(after_help = "\
They were given with `onecall approvals approve --until` or `--for-run`, and are listed until
they end.

Examples:
  onecall approvals grants
  onecall approvals grants --json | jq -r '.[] | .id + \" \" + .tool'")]
    Grants {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take back approvals that cover later calls, so that these ask again
    #[command(after_help = "\
The ids are those that `onecall approvals grants` lists; the beginning of one is enough. A call that
was approved before stays approved.

Examples:
  onecall approvals revoke 1m7g7r5ga39rv3.2

Exit codes: 0 all were taken back, 1 one was not, 2 the command line or the store cannot be used")]
    Revoke {
        /// The id of the question whose answer covers later calls, or the beginning of it
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print questions as they come, and what becomes of them, until Ctrl-C
    #[command(after_help = "\
Examples:
  onecall approvals watch
  onecall approvals watch --json | jq -r 'select(.event == \"asked\") | .question.id'")]
    Watch {
        /// Print every event as a JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Which questions are answered.
#[derive(Args, Debug)]
#[group(id = "which", required = true, multiple = true)]
pub(crate) struct Selection {
    /// Ids of questions or of runs, or beginnings of ids
    #[arg(value_name = "ID", conflicts_with = "all")]
    ids: Vec<String>,
    /// Answer every open question
    #[arg(long)]
    all: bool,
}

/// The store with the questions, and what is hidden when they are shown.
struct Desk {
    store: Arc<dyn DurableStore>,
    redactor: Redactor,
}

impl Desk {
    /// A text of a program or a server, in one line and without secrets.
    fn line(&self, text: &str) -> String {
        visible_line(&self.redactor.redact(text.to_owned())).into_owned()
    }
}

/// Lists, shows or answers questions.
pub(crate) fn approvals(command: ApprovalsCommand, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let desk = Desk { store: store::open(&config)?, redactor: redactor(&config) };
    match command {
        ApprovalsCommand::List { all, json } => list::list(&desk, all, json),
        ApprovalsCommand::Show { ids, json } => show::show(&desk, &ids, json),
        ApprovalsCommand::Approve(arguments) => {
            answer(&desk, &config, &arguments.which, &arguments.choice()?, arguments.json)
        }
        ApprovalsCommand::Deny(arguments) => {
            answer(&desk, &config, &arguments.which, &arguments.choice(), arguments.json)
        }
        ApprovalsCommand::Grants { json } => grants::list(&desk, json),
        ApprovalsCommand::Revoke { items, json } => grants::revoke(&desk, &items, json),
        ApprovalsCommand::Watch { json } => watch::watch(&desk, json),
    }
}

/// Prints the ids of the approvals that cover later calls, for the completion of a shell.
pub(crate) fn grant_ids(global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let Some(store) = store::open_existing(&config) else { return Ok(ExitCode::SUCCESS) };
    let grants = store.all_grants(Timestamp::now())?;
    print(&grants.iter().map(|grant| format!("{}\n", grant.item.as_str())).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the ids of the open questions and of their runs, for the completion of a shell.
pub(crate) fn ids(global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let Some(store) = store::open_existing(&config) else { return Ok(ExitCode::SUCCESS) };
    let filter = QuestionFilter { run: None, open: true, ..QuestionFilter::default() };
    let mut ids = Vec::new();
    for stored in store.questions(&filter)? {
        ids.extend([stored.question.run.to_string(), stored.question.item.as_str().to_owned()]);
    }
    ids.sort();
    ids.dedup();
    print(&ids.iter().map(|id| format!("{id}\n")).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
