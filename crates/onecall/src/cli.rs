//! The command line of onecall, as clap parses it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use onecall_core::{EngineChoice, Language, UserName};
use onecall_server::SearchDetail;

use crate::color::Color;
use crate::commands::GenerateArguments;
use crate::commands::init::{ImportArguments, InitArguments};
use crate::commands::install::{InstallArguments, TargetArguments};
use crate::commands::servers::AddArguments;
use crate::commands::{
    ApprovalsCommand, AuditArguments, CacheCommand, ConfigCommand, LogsArguments, PolicyCommand,
    RunsArguments, SecretsCommand, StatsArguments, UsersCommand, parse_user,
};
use crate::configuration::LazyConfiguration;
use crate::http::HttpOptions;
use crate::logging::LogFormat;

/// The output of `--version`, with the details that a bug report needs.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ONECALL_BUILD"), ")");

/// Many tools, one call: runs programs over your other MCP servers.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, about, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Try it without any setup:
  onecall demo
Import the servers you have, and add onecall to your agent:
  onecall init
  onecall install claude-code")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses the words of a command line. Errors and help are printed in the colours that
    /// `--color` asks for; then the process exits.
    pub(crate) fn parse_words(words: Vec<OsString>) -> Self {
        let mut command = Self::command().color(Color::from_words(&words).for_help());
        let matches = command.try_get_matches_from_mut(words);
        let parsed = matches.and_then(|matches| Self::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| error.format(&mut command).exit())
    }
}

/// Options every command takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Configuration file to read; `onecall config path` shows which one is read without this
    #[arg(long, short, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What to log to stderr: off, error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// Format of log lines: human, or json (one object per line)
    #[arg(long, global = true, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) log_format: Option<LogFormat>,
    /// Print results and errors only: no progress, notes or warnings
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use colours: always, never, or auto (on a terminal, unless NO_COLOR is set)
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) color: Color,
    /// What was read of the configuration.
    #[arg(skip)]
    pub(crate) configuration: LazyConfiguration,
}

impl Global {
    /// The format of log lines.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }
}

/// What `onecall run` takes.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The program's file, or - for standard input
    #[arg(required_unless_present = "eval")]
    pub(crate) file: Option<PathBuf>,
    /// Arguments for the program, in sys.argv or process.argv; write -- before the first one that
    /// begins with a dash
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) words: Vec<String>,
    /// Run this text instead of a file
    #[arg(long, short, value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) eval: Option<String>,
    /// Engine that runs the program: python (built in), cpython (the system's Python with its
    /// packages), or auto (cpython for programs that import what only it has)
    #[arg(long, value_parser = engine_names())]
    pub(crate) engine: Option<String>,
    /// Language of the program [default: typescript for files that end in .ts, .mts, .js or .mjs,
    /// else python]
    #[arg(long, value_parser = language_names())]
    pub(crate) language: Option<String>,
    /// Print everything about the run as JSON: output, tool calls, the last expression's value
    #[arg(long)]
    pub(crate) json: bool,
    /// List the tools that the program can call, and how often, without running it
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// Stop the program after this many seconds instead of the configured limit
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

impl RunArguments {
    /// The program's file, if it comes from one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| self.eval.is_none() && *file != Path::new("-"))
    }
}

/// What `onecall ui` takes.
#[derive(Args, Debug)]
pub(crate) struct UiArguments {
    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Serve the page at this port of this machine [default: a free port]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

/// What `onecall call` takes.
#[derive(Args, Debug)]
pub(crate) struct CallArguments {
    /// A name from `onecall tools`, or TOOL or SERVER.TOOL if only one tool has that name
    pub(crate) tool: String,
    /// Arguments: key=value, or key:=JSON
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object: the object itself, @FILE, or - for standard input
    #[arg(long, value_name = "OBJECT", conflicts_with = "arguments")]
    pub(crate) args: Option<String>,
    /// Print the answer as JSON, even if it is text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer without formatting it
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
}

/// What `onecall exec` takes.
#[derive(Args, Debug)]
pub(crate) struct ExecArguments {
    /// A folder that programs may read and write; a program sent with a filename is stored there
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import the MCP servers of your other clients
    #[command(after_help = "\
Reads the configuration files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex,
Gemini CLI, Zed and Continue, yours and those of the project in the working directory, and lets you
choose among their servers. Adds the servers that you choose to your configuration, which it creates
if there is none, and connects to them once. References to variables stay references. A value that
looks like a secret becomes a reference, too: if you agree, the value is stored as by
`onecall secrets set`, otherwise it is left out.

Examples:
  onecall init
  onecall init --yes --client claude-code --client cursor
  onecall init --output onecall.yaml

Exit codes: 0 all servers answer, 1 one does not or you chose none, 2 an error occurred")]
    Init(InitArguments),
    /// Import MCP servers from files
    #[command(after_help = "\
Examples:
  onecall import ~/Downloads/mcp.json
  onecall import --client gemini settings.json

Exit codes: as for onecall init")]
    Import(ImportArguments),
    /// Add onecall to the configuration of an MCP client
    #[command(after_help = "\
Shows the change and asks before it changes the file, and keeps a backup beside it. Everything else
in the file stays unchanged, including comments. With --replace, the servers that onecall bridges
are removed from the file; `onecall uninstall` restores them.

Examples:
  onecall install claude-code
  onecall install --replace cursor vscode
  onecall install --dry-run codex

Exit codes: 0 onecall is installed, 1 you declined, 2 an error occurred")]
    Install(InstallArguments),
    /// Remove onecall from the configuration of an MCP client
    #[command(after_help = "Example:\n  onecall uninstall claude-code")]
    Uninstall(TargetArguments),
    /// Add a server to your configuration
    #[command(after_help = "\
Changes the configuration in place, keeps its comments, and connects to the server once. Write
options of onecall before the server's command: everything after the command belongs to it.

Examples:
  onecall add time uvx mcp-server-time
  onecall add files npx -y @modelcontextprotocol/server-filesystem /data
  onecall add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' uvx mcp-server-github
  onecall add tracker https://mcp.example.com/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'

Exit codes: 0 the server answers, 1 it is added but does not answer, 2 it is not added")]
    #[command(override_usage = "\
onecall add [OPTIONS] <NAME> <COMMAND> [ARGUMENTS]...
       onecall add [OPTIONS] <NAME> <URL>")]
    Add(AddArguments),
    /// Remove servers from your configuration
    #[command(after_help = "\
If one of the servers does not exist, none is removed.

Examples:
  onecall remove time
  onecall remove time files")]
    Remove {
        /// The servers' names in the configuration
        #[arg(required = true, value_name = "SERVER")]
        servers: Vec<String>,
    },
    /// Enable servers that are disabled
    #[command(after_help = "\
A running `onecall serve` applies the change at once.

Example:
  onecall enable time files")]
    Enable {
        /// The servers' names in the configuration
        #[arg(required = true, value_name = "SERVER")]
        servers: Vec<String>,
    },
    /// Disable servers, and keep their entries in your configuration
    #[command(after_help = "\
Sets `disabled: true` in the entry of each server and keeps comments. `onecall list` shows which
servers are disabled. A running `onecall serve` applies the change at once.

Example:
  onecall disable time files")]
    Disable {
        /// The servers' names in the configuration
        #[arg(required = true, value_name = "SERVER")]
        servers: Vec<String>,
    },
    /// List the servers of your configuration, without connecting to them
    #[command(after_help = "Example:\n  onecall list --json | jq -r '.servers[].name'")]
    List {
        /// Print JSON, with the names of variables and headers but not their values
        #[arg(long)]
        json: bool,
    },
    /// Show, edit and change your configuration
    #[command(
        after_help = "Examples:\n  onecall config path\n  onecall config set execution.timeout_seconds 300"
    )]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Serve MCP on stdin and stdout; this is what an agent's client starts
    #[command(after_help = "\
Reads the configuration again when it changes or when SIGHUP arrives, and starts, stops and restarts
servers accordingly.

Examples:
  claude mcp add onecall -- onecall serve
  onecall serve --http 127.0.0.1:8808
  claude mcp add --transport http onecall http://127.0.0.1:8808/mcp")]
    Serve(HttpOptions),
    /// Run a program
    #[command(after_help = "\
Examples:
  onecall run report.py
  onecall run report.py EU 2026 -- --all
  onecall run report.ts
  onecall run -e 'print(await mcp__time__now())'
  onecall run --dry-run report.py
  onecall run --json report.py | jq .return_value
  echo 'print(await mcp__time__now())' | onecall run -

Exit codes: 0 the program succeeded, 1 it failed, 2 it could not be started, 124 it timed out,
130 it was interrupted")]
    Run(RunArguments),
    /// Call one tool
    #[command(after_help = "\
Values are converted to the types in the tool's schema. Repeat a key to give a list of values:
key=one key=two. key:=JSON takes any value.

Examples:
  onecall call mcp__time__get_current_time timezone=Europe/Berlin
  onecall call sales.orders regions=EU regions=US limit=5
  onecall call mcp__sales__orders 'filter:={\"paid\": true}' --raw
  echo '{\"region\": \"EU\"}' | onecall call mcp__sales__orders --args -

Exit codes: 0 the tool answered, 1 it failed or does not exist, 2 the arguments or the
configuration are wrong")]
    Call(CallArguments),
    /// Type programs and see their results
    #[command(after_help = "\
Variables stay from one program to the next; Tab completes tools and their arguments. :help lists
the commands.

Example:
  onecall repl")]
    Repl,
    /// Run programs for a host that executes their tool calls itself, over lines of JSON
    #[command(after_help = "\
A host writes {\"type\":\"execute\",\"id\":\"1\",\"code\":\"print(tools.now())\"} to stdin, answers
the tool_call that appears on stdout with a tool_result, and reads the outcome. docs/exec.md has
every message. The configuration gives limits, engine, sandbox and workspace; its servers are not
started. Closing stdin ends everything.

Example:
  onecall exec --workspace ./programs

Exit codes: 0 the host closed stdin or exited, or a signal arrived; 2 it could not be started")]
    Exec(ExecArguments),
    /// Execute a plan: one tool call whose arguments come from other tool calls
    #[command(after_help = "\
A plan is the JSON of the arguments of the tool `proxy`: target_tool, tool_args, and optionally
definitions and server_config.

Examples:
  onecall proxy plan.json
  onecall proxy --explain plan.json
  echo '{\"target_tool\": \"mcp__time__now\", \"tool_args\": {}}' | onecall proxy -

Exit codes: 0 the target tool answered, 1 a tool failed or the plan is wrong, 2 the plan cannot be
read, 130 it was interrupted")]
    Proxy {
        /// The plan's file, or - for standard input
        file: PathBuf,
        /// Show the order of execution as a tree, without executing the plan
        #[arg(long)]
        explain: bool,
    },
    /// List runs, newest first, those that have not ended at the top; show one, or replay it
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Runs are recorded in your state directory; `records` in the configuration sets how much of them.

Examples:
  onecall runs --failed --since 2h
  onecall runs --tool send_message --json
  onecall runs show 1m7g7r5ga39rv3
  onecall runs replay 1m7g7r5ga39rv3"
    )]
    Runs(RunsArguments),
    /// Show who called which tools and who decided it, and check that these rows are unchanged
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
The audit trail is in the store, in your state directory. It is written if `audit` in the
configuration is `hash` or `full`, and by default if there are `users`. Each call has a row for the
decision, one for the answer of a person if one was asked, and one for its end.

Examples:
  onecall audit --user anna --since 2h
  onecall audit --tool 'mcp__github__*' --denied
  onecall audit --run 1m7g7r5ga39rv3 --json
  onecall audit verify
  onecall audit head"
    )]
    Audit(AuditArguments),
    /// List the calls that wait for a person, and approve or deny them
    #[command(after_help = "\
The section `approvals` of the configuration names the calls that need an approval. Answers reach a
running gateway at once; the first one counts.

Examples:
  onecall approvals list
  onecall approvals show 1m7g7r5ga39rv3
  onecall approvals approve 1m7g7r5ga39rv3.2
  onecall approvals deny 1m7g7r5ga39rv3 --reason 'not before Monday'
  onecall approvals watch")]
    Approvals {
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// Open a page in the browser: what ran, what waits for you, servers and tools
    #[command(after_help = "\
The page reads the store, also while agents use onecall, and answers calls that wait for an
approval. It is served on this machine only, and ends with Ctrl-C. The address contains a key that
can be used once: open it yourself.

Examples:
  onecall ui
  onecall ui --no-open --port 8810")]
    Ui(UiArguments),
    /// Continue a run that was interrupted, here, and print its answer
    #[command(after_help = "\
The program is executed again from its start; calls that were made before are answered from the
run's journal and not repeated. A run that waits for an approval can be continued here, too: the
question appears on this terminal. Only runs that may ask can be continued, or all of them with
`durable: true`. A run that began with another configuration is continued only with
--any-configuration: its calls go to the servers of this one, under its rules.

Examples:
  onecall runs
  onecall resume 1m7g7r5ga39rv3

Exit codes: 0 the run succeeded, 1 it failed or cannot be continued, 2 it could not be started,
130 it was interrupted again")]
    Resume {
        /// The run's id, or the beginning of it
        run: String,
        /// Continue it even if it began with another configuration
        #[arg(long)]
        any_configuration: bool,
        /// Print the answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// End a run that waits, was interrupted or still runs, whichever process has it
    #[command(after_help = "\
The run makes no further calls, and its open questions are withdrawn. Calls that were made stay
made. Only runs that can be continued are known here: those that may ask, or all of them with
`durable: true`.

Example:
  onecall cancel 1m7g7r5ga39rv3

Exit codes: 0 the run is cancelled, 1 it had ended or does not exist, 2 the store cannot be used")]
    Cancel {
        /// The run's id, or the beginning of it
        run: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what servers wrote to stderr, what happened to them, and the warnings of gateways
    #[command(after_help = "\
Every gateway and command that uses servers, apart from doctor, writes to these files in your state
directory: 1 MB for each server, and 1 MB of older lines. `logs: off` in the configuration
turns it off.

Examples:
  onecall logs
  onecall logs files --follow
  onecall logs files -n 500 --json | jq -r .message

Exit codes: 0 the logs were shown, 2 there is no such server, 130 the command was interrupted")]
    Logs(LogsArguments),
    /// Show how many programs ran, how long they took and what they saved: by day, server and tool
    #[command(after_help = "Examples:\n  onecall stats\n  onecall stats --since 4w --json")]
    Stats(StatsArguments),
    /// Check everything that onecall depends on, and show what is wrong and how to fix it
    #[command(after_help = "\
Checks the configuration; every property of the sandbox, which a worker of each engine tries to
break; a small program on each engine; Python, Node and the other programs that start servers; every
server, by connecting to it once; the store; the clients that start onecall. ✓ works, ! works with
restrictions, ✗ is broken. Changes nothing and shows no secrets.

Examples:
  onecall doctor
  onecall doctor --json | jq -r '.servers[] | select(.verdict == \"red\") | .fix'

Exit codes: 0 nothing is broken, 1 something is broken, 2 the check itself failed")]
    Doctor {
        /// Print one JSON object with all results
        #[arg(long)]
        json: bool,
    },
    /// List the tools that programs can call
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Tools are shown at once as their servers listed them last; only servers whose tools were never
listed are started first. Servers whose list is more than an hour old list their tools again
after that, and a note says if something has changed.

Examples:
  onecall tools
  onecall tools \"send a message\"
  onecall tools --server slack --detail signatures
  onecall tools --refresh
  onecall tools show mcp__slack__post_message

Exit codes: 0 tools were found, 1 none were found, 2 an error occurred"
    )]
    Tools {
        /// Words to search for; without any, all tools are listed
        query: Vec<String>,
        #[command(flatten)]
        options: SearchOptions,
        #[command(subcommand)]
        command: Option<ToolsCommand>,
    },
    /// Write every tool as a typed function, for agents that execute code themselves
    #[command(after_help = "\
Writes DIR/<server>/<category>/<tool>, a client that calls through onecall, a README and examples.
Writes only files that have changed, and removes the files of tools that no longer exist. Files that
onecall did not write, or that were edited since, are kept and listed. With --server, the folder has
the tools of these servers only.

Examples:
  onecall generate --lang typescript --out mcp-apis
  onecall generate --lang python --out tools --server files --server time
  onecall generate --lang typescript --out mcp-apis --check

Exit codes: 0 the files are up to date, 1 something differs or was kept, 2 an error occurred")]
    Generate(GenerateArguments),
    /// Check the configuration and connect to every server once
    #[command(after_help = "\
Examples:
  onecall check --config onecall.yaml
  onecall check --json | jq -r '.servers[] | select(.state == \"failed\") | .name'

Exit codes: 0 every server answers, 1 a server does not answer or there is a warning, 2 the
configuration cannot be used")]
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show or clear the cached answers of tools on disk
    #[command(after_help = "\
With `cache: { scope: shared }` in the configuration, answers of tools that change nothing are
stored in a file that all your onecall processes share. The other scopes store nothing on disk.

Examples:
  onecall cache stats
  onecall cache clear 'mcp__sales__*'")]
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Accept the tools of a pinned server as they are now
    #[command(after_help = "\
onecall remembers the tools of a server with `pin: true` when it first sees them. Programs cannot
call tools that are new or have changed since, until you accept them here.

Examples:
  onecall pin files
  onecall pin files read_file --yes

Exit codes: 0 nothing is left to accept, 1 you declined, 2 an error occurred")]
    Pin {
        /// The server's name in the configuration
        server: String,
        /// The tools to accept [default: all of the server's tools]
        tools: Vec<String>,
        /// Accept without asking
        #[arg(long, short)]
        yes: bool,
    },
    /// Check the policies of the configuration, explain their decisions, and test them
    #[command(after_help = "\
`policy` in the configuration names a file or folder of Cedar policies, which decide which user may
call which tool. docs/policy.md shows how to write them.

Examples:
  onecall policy check
  onecall policy explain anna mcp__github__delete_repo owner=acme repo=site --group dev
  onecall policy test policy-tests.yaml")]
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Allow a configuration in a working directory to be used without --config
    #[command(after_help = "\
A configuration starts programs, so onecall does not read one in the working directory until you
have looked at it and trusted it here. Trust ends when the file changes.

Example:
  onecall trust onecall.yaml")]
    Trust {
        /// The file [default: onecall.yaml or config.yaml in the working directory]
        file: Option<PathBuf>,
    },
    /// Store values for ${NAME} in configurations, in a file that only you can read
    #[command(after_help = "\
A reference ${NAME} in a configuration means the environment variable NAME, or the secret of this
name if the variable is not set. A server gets only the secrets that its entry refers to. A running
`onecall serve` applies changes at once. With --user, secrets are those of a user of a gateway,
which are encrypted.

Examples:
  onecall secrets set GITHUB_TOKEN
  gh auth token | onecall secrets set GITHUB_TOKEN
  onecall secrets set JIRA_TOKEN --user anna
  onecall secrets list
  onecall secrets remove GITHUB_TOKEN")]
    Secrets {
        #[command(subcommand)]
        command: SecretsCommand,
    },
    /// Manage the people who may use `onecall serve --http`, and their tokens
    #[command(after_help = "\
The section `users` of the configuration makes a gateway ask every request for the token of a user:
a personal token that is made here, or a token of an identity provider. A running gateway applies
changes within a second.

Examples:
  onecall users add anna --group dev
  onecall users token anna --expires 30d --label laptop
  onecall users list
  onecall users remove anna")]
    Users {
        #[command(subcommand)]
        command: UsersCommand,
    },
    /// Log in to a remote server that asks for it, in the browser
    #[command(after_help = "\
The login is stored in your state directory, in a file that only you can read, and renews itself.
Every onecall with the same configuration uses it, even one that is running already. If the address
of the login looks suspicious, onecall asks you first; 'issuer' under 'oauth' in the server's entry
sets the address that you expect.

Example:
  onecall login tracker

Exit codes: 0 you are logged in, 1 you are not, 2 there is nothing to log in to, 130 interrupted")]
    Login {
        /// The server's name in the configuration
        server: String,
        /// Print the address and open no browser
        #[arg(long)]
        no_browser: bool,
        /// How long to wait for the login
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
        timeout: u64,
    },
    /// Log out of a remote server
    #[command(after_help = "\
Deletes the login here, and revokes it at the authorization server if that is supported.

Examples:
  onecall logout tracker
  onecall logout tracker --user anna")]
    Logout {
        /// The server's name in the configuration
        server: String,
        /// End the login of this user of a gateway
        #[arg(long, value_name = "USER", value_parser = parse_user)]
        user: Option<UserName>,
    },
    /// Show what a program saves, with built-in data
    #[command(after_help = "Example:\n  onecall demo")]
    Demo,
    /// Print the schema of the configuration, for editors
    #[command(after_help = "\
With the line `# yaml-language-server: $schema=onecall.schema.json` at the top of a configuration,
editors complete and check it.

Example:
  onecall schema > onecall.schema.json")]
    Schema {
        /// Print tables in Markdown instead
        #[arg(long)]
        markdown: bool,
    },
    /// Print a completion script for a shell
    #[command(after_help = "\
In bash, zsh and fish, the names of servers and tools are completed, too. No server is started for
that: onecall knows the names of tools once a command has listed them.

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
        /// Folder to write one page for each command to [default: print only the page of onecall]
        folder: Option<PathBuf>,
    },
    /// Print the licences and notices of everything that is in this binary
    #[command(visible_alias = "licenses")]
    #[command(after_help = "Example:\n  onecall licences | less")]
    Licences,
    /// Body of the process that ends bridged servers if the gateway is killed
    #[command(hide = true)]
    Guard,
    /// Prints the names of the servers of the configuration, for the completion of a shell
    #[command(hide = true)]
    ServerNames,
    /// Prints the names of the tools that were seen last, for the completion of a shell
    #[command(hide = true)]
    ToolNames,
    /// Prints the ids of open questions and their runs, for the completion of a shell
    #[command(hide = true)]
    QuestionIds,
    /// Prints the ids of approvals that cover later calls, for the completion of a shell
    #[command(hide = true)]
    GrantIds,
    /// Prints the ids of runs that have not ended, for the completion of a shell
    #[command(hide = true)]
    UnfinishedRunIds,
    /// Prints the names of users, for the completion of a shell
    #[command(hide = true)]
    UserNames,
    /// The MCP server of the demo
    #[command(hide = true)]
    DemoServer,
    /// Executes tool calls for generated code, in lines of JSON
    #[command(hide = true)]
    Calls,
    /// Counts the tokens of texts, for the records of a gateway
    #[command(hide = true)]
    CountTokens,
}

/// What of the tools is shown.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    /// Show only tools of this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// How much to show of each tool
    #[arg(long, default_value = "names", value_parser = detail_names())]
    pub(crate) detail: String,
    /// The language of the signatures
    #[arg(long, default_value = "python", value_parser = language_names())]
    pub(crate) language: String,
    /// Show at most this many tools [default: 20 for a search, else all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Have the servers list their tools now, and show what they list
    #[arg(long)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show one tool's signature, description and schemas
    #[command(after_help = "Example:\n  onecall tools show mcp__slack__post_message")]
    Show {
        /// A name from `onecall tools`, or TOOL or SERVER.TOOL if only one tool has that name
        name: String,
        /// Have the server list its tools now, and show what it lists
        #[arg(long)]
        refresh: bool,
    },
    /// Forget the learned result types of all tools, or of those that match a pattern
    #[command(after_help = "\
If a server does not declare the types of its results, onecall learns them from real results and
stores them in your state directory: keys and types, no values.

Example:
  onecall tools forget \"mcp__slack__*\"")]
    Forget {
        /// A tool name from `onecall tools`, with * for any characters
        pattern: Option<String>,
    },
}

/// The longest timeout that is accepted, one year.
pub(crate) const LONGEST_TIMEOUT: f64 = 31_536_000.0;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_TIMEOUT => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("must be a number above 0 and at most {LONGEST_TIMEOUT}")),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn each_command(command: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
        look(command);
        command.get_subcommands().for_each(|command| each_command(command, look));
    }

    #[test]
    fn help_is_not_wrapped_once_more() {
        each_command(&Cli::command(), &mut |command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            assert!(longest.chars().count() <= 100, "{}: {longest}", command.get_name());
        });
    }
}
