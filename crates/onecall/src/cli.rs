//! What can be typed after `onecall`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use onecall_core::{EngineChoice, Language};
use onecall_server::SearchDetail;

use crate::commands::GenerateArguments;
use crate::commands::init::{ImportArguments, InitArguments};
use crate::commands::install::{InstallArguments, TargetArguments};
use crate::commands::servers::AddArguments;
use crate::commands::{CacheCommand, RunsArguments, StatsArguments};
use crate::http::HttpOptions;
use crate::logging::LogFormat;

/// What `--version` says: enough for a report that something is wrong.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ONECALL_BUILD"), ")");

/// Many tools, one call: runs programs over your other MCP servers.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, about, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Try it without any setup:
  onecall demo
Take over the servers you have, and give onecall to your agent:
  onecall init
  onecall install claude-code")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options every command takes.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Configuration file; see the README for where it is looked for otherwise
    #[arg(long, short, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What to log to stderr: off, error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// How log lines look: human, or json, which is one object per line
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
}

/// What `onecall run` takes.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The program's file, or - for standard input
    pub(crate) file: PathBuf,
    /// What runs it: python (built in), cpython (the system's, with its packages), or auto,
    /// which takes cpython for programs that import what only it has
    #[arg(long, value_parser = engine_names())]
    pub(crate) engine: Option<String>,
    /// What it is written in, if its file name does not tell: .ts, .mts, .js and .mjs are
    /// typescript, everything else is python
    #[arg(long, value_parser = language_names())]
    pub(crate) language: Option<String>,
    /// Print everything about the run as JSON: output, tool calls, the last expression's value
    #[arg(long)]
    pub(crate) json: bool,
    /// List the tools it can call and how often, and run nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// Give it this many seconds instead of the configured limit
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// What `onecall call` takes.
#[derive(Args, Debug)]
pub(crate) struct CallArguments {
    /// A name from `onecall tools`
    pub(crate) tool: String,
    /// Arguments: key=value, or key:=JSON
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object, or - to read it from standard input
    #[arg(long, value_name = "OBJECT", conflicts_with = "arguments")]
    pub(crate) json: Option<String>,
    /// Print the answer as it came, not laid out
    #[arg(long)]
    pub(crate) raw: bool,
}

/// What `onecall exec` takes.
#[derive(Args, Debug)]
pub(crate) struct ExecArguments {
    /// A folder that programs may read and write, and where those with a filename are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take over the MCP servers that your other clients have
    #[command(after_help = "\
Looks through the files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex, Gemini CLI,
Zed and Continue, of yours and of the project in the working directory, shows what is there and lets
you choose. What you choose is added to your configuration, or makes one, and is tried out. References
to variables stay references; a value that looks like a secret is copied only if you say so.

Examples:
  onecall init
  onecall init --yes --client claude-code --client cursor
  onecall init --output onecall.yaml

Exit codes: 0 all servers answer, 1 one does not or you chose none, 2 it could not be done")]
    Init(InitArguments),
    /// The same, from files that you name
    #[command(after_help = "\
Examples:
  onecall import ~/Downloads/mcp.json
  onecall import --client gemini settings.json

Exit codes: as for onecall init")]
    Import(ImportArguments),
    /// Add onecall to the configuration of an MCP client
    #[command(after_help = "\
The change is shown first, and a copy of the file is left beside it. Everything else in the file
stays as it is, comments too. With --replace, servers that onecall bridges are taken out of it;
onecall uninstall puts them back.

Examples:
  onecall install claude-code
  onecall install --replace cursor vscode
  onecall install --dry-run codex

Exit codes: 0 it is there, 1 you did not agree, 2 it could not be done")]
    Install(InstallArguments),
    /// Take onecall out of the configuration of an MCP client
    #[command(after_help = "Example:\n  onecall uninstall claude-code")]
    Uninstall(TargetArguments),
    /// Add a server to your configuration
    #[command(after_help = "\
The configuration is changed in place, comments stay, and the server is tried out.

Examples:
  onecall add time -- uvx mcp-server-time
  onecall add files --env 'TOKEN=${FILES_TOKEN}' -- npx -y @modelcontextprotocol/server-filesystem /data
  onecall add tracker https://mcp.example.com/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'

Exit codes: 0 it answers, 1 it is added but does not answer, 2 it could not be added")]
    Add(AddArguments),
    /// Remove a server from your configuration
    #[command(after_help = "Example:\n  onecall remove time")]
    Remove {
        /// The server's name in the configuration
        server: String,
    },
    /// List the servers of your configuration, without connecting to them
    #[command(after_help = "Example:\n  onecall list --json | jq -r '.servers[].name'")]
    List {
        /// As JSON, with the names of variables and headers but not their values
        #[arg(long)]
        json: bool,
    },
    /// Serve MCP on stdin and stdout; this is what an agent's client starts
    #[command(after_help = "\
The configuration is followed: servers are started, stopped and restarted as it changes, or when
SIGHUP arrives.

Examples:
  claude mcp add onecall -- onecall serve
  onecall serve --http 127.0.0.1:8808
  claude mcp add --transport http onecall http://127.0.0.1:8808/mcp")]
    Serve(HttpOptions),
    /// Run a program
    #[command(after_help = "\
Examples:
  onecall run report.py
  onecall run report.ts
  onecall run --dry-run report.py
  onecall run --json report.py | jq .return_value
  echo 'print(await mcp__time__now())' | onecall run -

Exit codes: 0 it ran to its end, 1 it failed, 2 it could not be started, 124 it ran out of time,
130 it was interrupted")]
    Run(RunArguments),
    /// Call one tool
    #[command(after_help = "\
A value has the type that the tool's schema says; several values for one list are written
key=one key=two. key:=JSON takes any value.

Examples:
  onecall call mcp__time__get_current_time timezone=Europe/Berlin
  onecall call mcp__sales__orders regions=EU regions=US limit=5
  onecall call mcp__sales__orders 'filter:={\"paid\": true}' --raw
  echo '{\"region\": \"EU\"}' | onecall call mcp__sales__orders --json -

Exit codes: 0 the tool answered, 1 it failed or there is none, 2 the arguments cannot be read")]
    Call(CallArguments),
    /// Type programs and see what they do
    #[command(after_help = "\
Variables stay from one program to the next; Tab completes tools and their arguments. :help lists
what else there is.

Example:
  onecall repl")]
    Repl,
    /// Run programs for a host that executes their tools itself, in lines of JSON
    #[command(after_help = "\
A host writes {\"type\":\"execute\",\"id\":\"1\",\"code\":\"print(tools.now())\"} to stdin, answers
the tool_call that appears on stdout with a tool_result, and reads the outcome. docs/exec.md has
every message. The configuration gives limits, engine, sandbox and workspace; its servers are not
started. Closing stdin ends everything.

Example:
  onecall exec --workspace ./programs

Exit codes: 0 the host closed stdin or went away, or a signal came; 2 it could not be started")]
    Exec(ExecArguments),
    /// Carry out a plan: one tool, whose arguments come from other tools
    #[command(after_help = "\
A plan is the JSON of the arguments of the tool `proxy`: target_tool, tool_args, and optionally
definitions and server_config.

Examples:
  onecall proxy plan.json
  onecall proxy --explain plan.json
  echo '{\"target_tool\": \"mcp__time__now\", \"tool_args\": {}}' | onecall proxy -

Exit codes: 0 the target answered, 1 something failed, 2 the plan could not be read, 130 it was
interrupted")]
    Proxy {
        /// The plan's file, or - for standard input
        file: PathBuf,
        /// Show the order of execution as a tree and run nothing
        #[arg(long)]
        explain: bool,
    },
    /// List what ran, newest first; show one run, or run it again from its record
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Runs are recorded in your state directory; `records` in the configuration says how much of them.

Examples:
  onecall runs --failed --since 2h
  onecall runs --tool send_message --json
  onecall runs show 1m7g7r5ga39rv3
  onecall runs replay 1m7g7r5ga39rv3"
    )]
    Runs(RunsArguments),
    /// Show what ran, how long it took and what it saved: by day, server and tool
    #[command(after_help = "Examples:\n  onecall stats\n  onecall stats --since 4w --json")]
    Stats(StatsArguments),
    /// Look at everything onecall depends on, and say what is wrong and what to do
    #[command(after_help = "\
Which configuration is used and what is wrong with it; every wall of the sandbox, which a worker of
each engine tries to break; a program that says hello on each engine; Python, Node and what else
servers are started with; every server, connected to once; the store; the clients that start onecall.
✓ works, ! works with a reservation, ✗ is broken. Nothing is changed, and no secret is shown.

Examples:
  onecall doctor
  onecall doctor --json | jq -r '.servers[] | select(.verdict == \"red\") | .fix'

Exit codes: 0 nothing is broken, 1 something is, 2 it could not be looked at")]
    Doctor {
        /// As one JSON object, with everything that was found
        #[arg(long)]
        json: bool,
    },
    /// List the tools that programs can call
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  onecall tools
  onecall tools \"send a message\"
  onecall tools --server slack --detail signatures
  onecall tools show mcp__slack__post_message

Exit codes: 0 there are such tools, 1 there are none, 2 they could not be looked for"
    )]
    Tools {
        /// Words to search for; all tools by name if left out
        query: Vec<String>,
        #[command(flatten)]
        options: SearchOptions,
        #[command(subcommand)]
        command: Option<ToolsCommand>,
    },
    /// Write every tool as a typed function, for agents with code execution of their own
    #[command(after_help = "\
Writes DIR/<server>/<category>/<tool>, a client that calls through onecall, a README and examples.
Only what has changed is written. Files of tools that are gone are removed; files that somebody
else wrote or edited are kept and named. With --server, the folder has these servers alone.

Examples:
  onecall generate --lang typescript --out servers
  onecall generate --lang python --out tools --server files --server time
  onecall generate --lang typescript --out servers --check

Exit codes: 0 everything is as it should be, 1 something differs or was kept, 2 it could not be done")]
    Generate(GenerateArguments),
    /// Check the configuration and connect to every server once
    #[command(after_help = "Example:\n  onecall check --config onecall.yaml")]
    Check,
    /// Show or clear the answers of tools that are kept on disk
    #[command(after_help = "\
With `cache: { scope: shared }` in the configuration, answers of tools that change nothing are
kept in a file, for every onecall of yours. The other scopes keep nothing on disk.

Examples:
  onecall cache stats
  onecall cache clear 'mcp__sales__*'")]
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Accept the tools of a pinned server as they are now
    #[command(after_help = "\
The tools of a server with `pin: true` are remembered when they are first seen. Those that are
new or have changed since cannot be called until you have looked at them here and said so.

Examples:
  onecall pin files
  onecall pin files read_file --yes

Exit codes: 0 nothing is left to accept, 1 you did not agree, 2 it could not be done")]
    Pin {
        /// The server's name in the configuration
        server: String,
        /// Its tools to accept, as the server names them; all of them if left out
        tools: Vec<String>,
        /// Accept without asking
        #[arg(long)]
        yes: bool,
    },
    /// Allow a configuration in a working directory to be used without --config
    #[command(after_help = "\
A configuration starts programs, so one that merely lies in the working directory is not
used until you have read it and said so. Trust ends when the file changes.

Example:
  onecall trust onecall.yaml")]
    Trust {
        /// The file; onecall.yaml or config.yaml of the working directory if left out
        file: Option<PathBuf>,
    },
    /// Log in to a remote server that asks for it, in the browser
    #[command(after_help = "\
The login is kept in your state directory, readable by you alone, and renews itself. Everything
that runs with the same configuration uses it, also what is running already.

Example:
  onecall login tracker

Exit codes: 0 you are logged in, 1 you are not, 2 there is nothing to log in to, 130 interrupted")]
    Login {
        /// The server's name in the configuration
        server: String,
        /// Only print the address to visit
        #[arg(long)]
        no_browser: bool,
        /// How long to wait for you
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
        timeout: u64,
    },
    /// End a login
    #[command(after_help = "\
The login is forgotten here and revoked at the authorization server, if that takes it back.

Example:
  onecall logout tracker")]
    Logout {
        /// The server's name in the configuration
        server: String,
    },
    /// Show on built-in data what a program saves
    #[command(after_help = "Example:\n  onecall demo")]
    Demo,
    /// Print the schema of the configuration, for editors
    #[command(after_help = "\
With the line `# yaml-language-server: $schema=onecall.schema.json` at the top of a configuration,
editors complete and check it.

Example:
  onecall schema > onecall.schema.json")]
    Schema {
        /// Print it as tables of Markdown instead
        #[arg(long)]
        markdown: bool,
    },
    /// Print what a shell needs to complete commands and options
    #[command(after_help = "\
Examples:
  onecall completions bash > ~/.local/share/bash-completion/completions/onecall
  onecall completions zsh > ~/.zfunc/_onecall
  onecall completions fish > ~/.config/fish/completions/onecall.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write man pages
    #[command(after_help = "\
Examples:
  onecall man | man -l -
  onecall man ~/.local/share/man/man1")]
    Man {
        /// Write a page for each command here; without it, onecall's own page is printed
        folder: Option<PathBuf>,
    },
    /// Body of the process that forks program workers
    #[command(hide = true)]
    PythonZygote {
        /// How programs are locked in
        plan: String,
    },
    /// The same, becoming the system's Python
    #[command(hide = true)]
    CpythonZygote {
        /// How programs are locked in
        plan: String,
    },
    /// The same, for TypeScript
    #[command(hide = true)]
    TypescriptZygote {
        /// How programs are locked in
        plan: String,
    },
    /// Body of the process that ends bridged servers if the gateway is killed
    #[command(hide = true)]
    Guard,
    /// The MCP server of the demo
    #[command(hide = true)]
    DemoServer,
    /// Executes tool calls for generated code, in lines of JSON
    #[command(hide = true)]
    Calls,
}

/// What of the tools is shown.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    /// Only tools of this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// How much to show of each tool
    #[arg(long, default_value = "names", value_parser = detail_names())]
    pub(crate) detail: String,
    /// How many tools to show at most [default: 20 if there is something to search for]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show one tool's signature, description and schemas
    #[command(after_help = "Example:\n  onecall tools show mcp__slack__post_message")]
    Show {
        /// A name from `onecall tools`
        name: String,
    },
    /// Forget what results looked like, of all tools or of those that a pattern names
    #[command(after_help = "\
The types of results that servers do not declare are learned from real results and kept in your
state directory: keys and types, no values.

Example:
  onecall tools forget \"mcp__slack__*\"")]
    Forget {
        /// Callable names, with * for any characters
        pattern: Option<String>,
    },
}

/// Longer than a year is not meant.
pub(crate) const LONGEST_TIMEOUT: f64 = 31_536_000.0;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_TIMEOUT => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("it must be a number above 0 and at most {LONGEST_TIMEOUT}")),
    }
}

fn engine_names() -> PossibleValuesParser {
    PossibleValuesParser::new(EngineChoice::NAMES.map(|(name, _)| name))
}

fn detail_names() -> PossibleValuesParser {
    PossibleValuesParser::new(SearchDetail::NAMES.map(|(name, _)| name))
}

pub(crate) fn language_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Language::NAMES.map(|(name, _)| name))
}

/// The engine of this name, which the command line has checked.
pub(crate) fn engine(name: &str) -> Option<EngineChoice> {
    EngineChoice::NAMES.iter().find(|(known, _)| *known == name).map(|(_, engine)| *engine)
}
