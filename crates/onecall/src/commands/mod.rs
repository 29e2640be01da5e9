//! One file per command.

mod cache;
mod call;
mod calls;
mod check;
mod doctor;
mod exec;
mod generate;
pub(crate) mod init;
pub(crate) mod install;
mod login;
mod manual;
mod own_file;
mod pin;
mod proxy;
mod repl;
mod run;
mod runs;
mod schema;
mod serve;
pub(crate) mod servers;
mod stats;
mod tools;
mod trust;

pub(crate) use generate::GenerateArguments;

use std::io::Write;
use std::process::ExitCode;

pub(crate) use cache::CacheCommand;
pub(crate) use runs::RunsArguments;
pub(crate) use stats::StatsArguments;

use crate::cli::{Cli, Command, Global, ToolsCommand};
use crate::telemetry::Exporter;
use crate::{demo, logging, pages, setup};

/// The command line, its configuration or a file it names is wrong.
const EXIT_USAGE: u8 = 2;

/// Does what the command line says.
pub(crate) fn run(cli: Cli) -> ExitCode {
    // The helper processes live and die with the gateway and log nothing.
    match &cli.command {
        Command::PythonZygote { plan } => {
            pages::huge();
            return onecall_engine::run_python_zygote(plan);
        }
        Command::CpythonZygote { plan } => {
            pages::huge();
            return onecall_engine::run_cpython_zygote(plan);
        }
        Command::TypescriptZygote { plan } => {
            pages::huge();
            return onecall_engine::run_typescript_zygote(plan);
        }
        Command::Guard => {
            return match onecall_bridge::run_guard() {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
        _ => {}
    }
    match dispatch(cli.command, &cli.global) {
        Ok(code) => code,
        Err(error) => {
            logging::complain(cli.global.log_format, &format!("{error:#}"));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn dispatch(command: Command, global: &Global) -> anyhow::Result<ExitCode> {
    let exporter = match &command {
        Command::Serve(_) | Command::Run(_) | Command::Exec(_) | Command::Proxy { .. } => {
            Exporter::start(|| setup::telemetry(global))
        }
        _ => Ok(None),
    };
    logging::start(global, &command, exporter.as_ref().ok().and_then(Option::as_ref))?;
    let exporter = exporter.unwrap_or_else(|error| {
        tracing::warn!("no spans are exported: {error:#}");
        None
    });
    let code = perform(command, global);
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    code
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
        Command::Stats(arguments) => stats::stats(&arguments, global),
        Command::Doctor { json } => doctor::doctor(json, global),
        Command::Tools { command: Some(ToolsCommand::Show { name }), .. } => {
            tools::show(&name, global)
        }
        Command::Tools { command: Some(ToolsCommand::Forget { pattern }), .. } => {
            tools::forget(pattern.as_deref(), global)
        }
        Command::Tools { query, options, command: None } => {
            tools::list(&query.join(" "), &options, global)
        }
        Command::Generate(arguments) => generate::generate(&arguments, global),
        Command::Check => check::check(global),
        Command::Cache { command } => cache::cache(command, global),
        Command::Init(arguments) => init::init(&arguments, global),
        Command::Import(arguments) => init::import(&arguments, global),
        Command::Install(arguments) => install::install(&arguments, global),
        Command::Uninstall(arguments) => install::uninstall(&arguments),
        Command::Add(arguments) => servers::add(arguments, global),
        Command::Remove { server } => servers::remove(&server, global),
        Command::List { json } => servers::list(json, global),
        Command::Pin { server, tools, yes } => pin::pin(&server, &tools, yes, global),
        Command::Trust { file } => trust::trust(file, global),
        Command::Login { server, no_browser, timeout } => {
            let browser = if no_browser { login::Browser::None } else { login::Browser::Open };
            login::login(&server, browser, timeout, global)
        }
        Command::Logout { server } => login::logout(&server, global),
        Command::Demo => demo::demo(),
        Command::Schema { markdown } => {
            schema::schema(if markdown { schema::Form::Markdown } else { schema::Form::JsonSchema })
        }
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::man(folder.as_deref()),
        Command::DemoServer => demo::serve(),
        Command::Calls => calls::calls(global),
        Command::PythonZygote { .. }
        | Command::CpythonZygote { .. }
        | Command::TypescriptZygote { .. }
        | Command::Guard => Ok(ExitCode::SUCCESS),
    }
}

/// Writes a line to stderr. Nothing can be done about a stderr that is gone.
pub(crate) fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}
