//! The subcommands, one file each, and the dispatch to them.

mod approvals;
mod audit;
mod cache;
mod call;
mod calls;
mod cancel;
mod check;
mod check_json;
mod config;
mod doctor;
mod editable_config;
mod exec;
mod generate;
mod imported_secrets;
pub(crate) mod init;
pub(crate) mod install;
mod login;
mod logs;
mod manual;
mod pin;
mod policy;
mod proxy;
mod repl;
mod resume;
mod run;
mod runs;
mod schema;
mod secrets;
mod serve;
pub(crate) mod servers;
mod source;
mod stats;
mod switch;
mod tools;
mod trust;
mod ui;
mod user_secrets;
mod users;

pub(crate) use generate::GenerateArguments;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use onecall_clients::Switch;
use onecall_gateway::AcceptedConfiguration;

pub(crate) use approvals::{ApprovalsCommand, answered};
pub(crate) use audit::AuditArguments;
pub(crate) use cache::CacheCommand;
pub(crate) use config::ConfigCommand;
pub(crate) use logs::LogsArguments;
pub(crate) use policy::PolicyCommand;
pub(crate) use runs::RunsArguments;
pub(crate) use secrets::SecretsCommand;
pub(crate) use stats::StatsArguments;
pub(crate) use user_secrets::parse_user;
pub(crate) use users::UsersCommand;

use crate::cli::{Cli, Command, Global, ToolsCommand};
use crate::setup::ConfigurationNeed;
use crate::telemetry::Exporter;
use crate::terminal::{Stderr, TerminalEscaper, is_quiet, set_quiet};
use crate::{container, demo, logging, setup, system, token_counter};

/// The exit code for an invalid command line, configuration or input file.
const EXIT_USAGE: u8 = 2;

/// Runs the command.
pub(crate) fn run(mut cli: Cli) -> ExitCode {
    cli.global.color.apply();
    if cli.global.quiet {
        set_quiet();
    }
    let prepared = system::close_to_other_processes()
        .context("cannot keep other processes from reading this one's memory")
        .and_then(|()| container::apply_defaults(&mut cli).context("cannot log to stdout"));
    let done = prepared.and_then(|()| match cli.command {
        Command::Guard => {
            // The guard waits as long as the gateway runs.
            system::release_start_memory();
            Ok(onecall_bridge::run_guard().map(|()| ExitCode::SUCCESS)?)
        }
        Command::CountTokens => token_counter::count_tokens(),
        command => dispatch(command, &cli.global),
    });
    done.unwrap_or_else(|error| {
        if is_closed_output(&error) {
            return ExitCode::SUCCESS;
        }
        logging::report_error(cli.global.log_format(), &format!("{error:#}"));
        ExitCode::from(EXIT_USAGE)
    })
}

/// Whether a command failed because the reader of its output has exited, as `head` does.
fn is_closed_output(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn dispatch(command: Command, global: &Global) -> anyhow::Result<ExitCode> {
    let exporter = match &command {
        Command::Serve(_)
        | Command::Run(_)
        | Command::Resume { .. }
        | Command::Exec(_)
        | Command::Proxy { .. } => Exporter::start(|| setup::telemetry(global)),
        _ => Ok(None),
    };
    logging::start(global, &command, exporter.as_ref().ok().and_then(Option::as_ref))?;
    let exporter = exporter.unwrap_or_else(|error| {
        tracing::warn!("no spans are exported: {error:#}");
        None
    });
    if names_its_configuration(&command) {
        setup::print_source(global, need(&command))?;
    }
    let code = perform(command, global);
    crate::logs::finish();
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    code
}

/// Whether a command reads the configuration but does not show which one.
fn names_its_configuration(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Serve(_)
            | Command::Exec(_)
            | Command::Config { command: ConfigCommand::Get { .. } }
            | Command::Repl
            | Command::Call(_)
            | Command::Proxy { .. }
            | Command::Tools { .. }
            | Command::Generate(_)
            | Command::List { .. }
            | Command::Pin { .. }
            | Command::Policy { .. }
            | Command::Login { .. }
            | Command::Logout { .. }
            | Command::Runs(_)
            | Command::Audit(_)
            | Command::Approvals { .. }
            | Command::Ui(_)
            | Command::Users { .. }
            | Command::Resume { .. }
            | Command::Cancel { .. }
            | Command::Stats(_)
            | Command::Cache { .. }
    )
}

/// How much a command depends on a configuration.
fn need(command: &Command) -> ConfigurationNeed {
    match command {
        Command::Call(_)
        | Command::Tools { command: Some(ToolsCommand::Show { .. }), .. }
        | Command::Generate(_)
        | Command::Pin { .. }
        | Command::Login { .. }
        | Command::Logout { .. } => ConfigurationNeed::Required,
        Command::Repl
        | Command::Proxy { .. }
        | Command::List { .. }
        | Command::Tools { command: None, .. } => ConfigurationNeed::Servers,
        _ => ConfigurationNeed::Optional,
    }
}

fn perform(command: Command, global: &Global) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(http) => serve::serve(http, global),
        Command::Run(arguments) => run::run(&arguments, global),
        Command::Repl => repl::repl(global),
        Command::Call(arguments) => call::call(&arguments, global),
        Command::Exec(arguments) => exec::exec(&arguments, global),
        Command::Proxy { file, explain } => proxy::proxy(&file, explain, global),
        Command::Runs(arguments) => runs::runs(arguments, global),
        Command::Audit(arguments) => audit::audit(arguments, global),
        Command::Approvals { command } => approvals::approvals(command, global),
        Command::Ui(arguments) => ui::ui(&arguments, global),
        Command::Resume { run, any_configuration, json } => {
            let accepted = match any_configuration {
                true => AcceptedConfiguration::Any,
                false => AcceptedConfiguration::Same,
            };
            resume::resume(&run, accepted, json, global)
        }
        Command::Cancel { run, json } => cancel::cancel(&run, json, global),
        Command::Logs(arguments) => logs::logs(&arguments, global),
        Command::Stats(arguments) => stats::stats(&arguments, global),
        Command::Doctor { json } => doctor::doctor(json, global),
        Command::Tools { command: Some(ToolsCommand::Show { name, refresh }), .. } => {
            tools::show(&name, refresh, global)
        }
        Command::Tools { command: Some(ToolsCommand::Forget { pattern }), .. } => {
            tools::forget(pattern.as_deref(), global)
        }
        Command::Tools { query, options, command: None } => {
            tools::list(&query.join(" "), &options, global)
        }
        Command::Generate(arguments) => generate::generate(&arguments, global),
        Command::Check { json } => check::check(json, global),
        Command::Config { command } => config::config(&command, global),
        Command::Cache { command } => cache::cache(command, global),
        Command::Init(arguments) => init::init(&arguments, global),
        Command::Import(arguments) => init::import(&arguments, global),
        Command::Install(arguments) => install::install(&arguments, global),
        Command::Uninstall(arguments) => install::uninstall(&arguments),
        Command::Add(arguments) => servers::add(arguments, global),
        Command::Remove { servers } => servers::remove(&servers, global),
        Command::Enable { servers } => switch::switch(&servers, Switch::On, global),
        Command::Disable { servers } => switch::switch(&servers, Switch::Off, global),
        Command::List { json } => servers::list(json, global),
        Command::Pin { server, tools, yes } => pin::pin(&server, &tools, yes, global),
        Command::Policy { command } => policy::policy(&command, global),
        Command::Secrets { command } => secrets::secrets(command, global),
        Command::Users { command } => users::users(command, global),
        Command::Trust { file } => trust::trust(file, global),
        Command::Login { server, no_browser, timeout } => {
            let browser = if no_browser { login::Browser::None } else { login::Browser::Open };
            login::login(&server, browser, timeout, global)
        }
        Command::Logout { server, user } => login::logout(&server, user.as_ref(), global),
        Command::Demo => demo::demo(),
        Command::Schema { markdown } => schema::schema(if markdown {
            schema::SchemaFormat::Markdown
        } else {
            schema::SchemaFormat::JsonSchema
        }),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::man(folder.as_deref()),
        Command::Licences => manual::licences(),
        Command::ServerNames => servers::names(global),
        Command::ToolNames => tools::names(global),
        Command::QuestionIds => approvals::ids(global),
        Command::GrantIds => approvals::grant_ids(global),
        Command::UnfinishedRunIds => cancel::ids(global),
        Command::UserNames => users::names(global),
        Command::DemoServer => demo::serve(),
        Command::Calls => calls::calls(global),
        Command::Guard | Command::CountTokens => Ok(ExitCode::SUCCESS),
    }
}

/// Writes a line to stderr, made safe for a terminal because it may contain text from a server.
/// Errors of stderr are ignored.
pub(crate) fn say(line: &str) {
    let line = TerminalEscaper::new(io::stderr().is_terminal()).text(line);
    _ = Stderr.write_all(format!("{line}\n").as_bytes());
}

/// Writes a line to stderr unless `--quiet` is given: what was done, or what to do next.
pub(crate) fn note(line: &str) {
    if !is_quiet() {
        say(line);
    }
}
