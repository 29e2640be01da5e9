//! `onecall policy`: checks the policies of the configuration, explains their decisions, and tests
//! them.

mod cases;
mod check;
mod explain;
mod known;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::Global;

/// What `onecall policy` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check the policies against the tools of all servers
    #[command(after_help = "\
Connects to every server once, and reports wrong names, arguments and types with their lines. A tool
of a server that does not answer is a warning: its policies do nothing until the server lists it.

Example:
  onecall policy check --json | jq -r '.errors[].message'

Exit codes: 0 nothing is wrong, 1 there are errors or warnings, 2 the configuration cannot be used")]
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show how a call would be decided, and what each policy has to do with it
    #[command(after_help = "\
Nothing is called. The decision is that of `tools`, pins, policies and `approvals` in the
configuration. Tools are used as their servers listed them last; only servers whose tools were never
listed are started.

Examples:
  onecall policy explain anna mcp__bank__pay amount:=99.5 --group staff
  onecall policy explain anna bank.pay '{\\\"amount\\\": 99.5}' --client editor
  onecall policy explain anna read_resource uri=docs://plan server=wiki

Exit codes: 0 the decision was shown, 1 there is no such tool, 2 the configuration or the policies
cannot be used")]
    Explain(ExplainArguments),
    /// Decide about the calls in a file, and compare with what the file expects
    #[command(after_help = "\
A test file is YAML or JSON:

  policy: ./policy           # instead of the configuration's; from the folder of this file
  tools:                     # instead of what these servers listed last
    - {server: bank, name: pay, input_schema: {properties: {amount: {type: number}}}}
  cases:
    - {user: anna, groups: [staff], tool: mcp__bank__pay, arguments: {amount: 5}, expect: allow}
    - {user: anna, tool: mcp__bank__pay, expect: deny, rule: default}

`expect` is allow, deny or ask; `rule`, `client` and `kind` are optional. No server is started.

Example:
  onecall policy test policy-tests.yaml

Exit codes: 0 all decisions are as expected, 1 one is not, 2 the file or the policies cannot be used")]
    Test {
        /// The file with the cases, or - for standard input
        file: PathBuf,
    },
}

/// What `onecall policy explain` takes.
#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// The user's name; `local` is the user of stdio and of the command line
    user: String,
    /// A name from `onecall tools`, SERVER.TOOL, or a function such as read_resource
    tool: String,
    /// Arguments: key=value or key:=JSON, or all of them as one JSON object
    arguments: Vec<String>,
    /// A group of the user; can be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// The name that the client gives itself
    #[arg(long, value_name = "NAME", default_value = "")]
    #[arg(hide_default_value = true)]
    client: String,
    /// What makes the call: program, plan, tool, call or exec
    #[arg(long, value_name = "KIND", default_value = "program")]
    kind: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks, explains or tests policies.
pub(crate) fn policy(command: &PolicyCommand, global: &Global) -> anyhow::Result<ExitCode> {
    match command {
        PolicyCommand::Check { json } => check::check(*json, global),
        PolicyCommand::Explain(arguments) => explain::explain(arguments, global),
        PolicyCommand::Test { file } => test::test(file, global),
    }
}

/// A number of things, in words.
fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}
