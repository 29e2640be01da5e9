//! `onecall repl`: runs programs as they are typed, with the real tools.

mod completion;
mod editor;
mod input;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use onecall_catalog::python_signature_with;
use onecall_config::Directories;
use onecall_core::{ClientId, Detail, Outcome, Program, SessionRequest};
use onecall_gateway::Gateway;

use self::completion::Vocabulary;
use self::editor::{Keyboard, Typed};
use crate::cli::Global;
use crate::commands::{note, say, tools};
use crate::layout::laid_out;
use crate::live::{Echo, Live};
use crate::terminal::{Readable, print};
use crate::{setup, waiting};

/// How many tools `:tools WORDS` shows.
const SEARCH_RESULTS: usize = 20;

const HELP: &str = "\
Type Python; tools are async functions: await mcp__server__tool(argument=1)
Variables stay, the value of a last expression is shown, Tab completes tools and arguments.
  :tools WORDS   find tools           :show NAME   one tool's signature and description
  :reset         forget variables     :quit        leave (or Ctrl-D)";

/// Reads and runs programs until the input ends.
pub(crate) fn repl(global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let runtime = setup::tokio_runtime()?;
    runtime.block_on(async {
        let gateway = setup::gateway(loaded)?;
        let result = converse(&gateway).await;
        gateway.shutdown().await;
        result
    })
}

async fn converse(gateway: &Gateway) -> anyhow::Result<ExitCode> {
    let tools = waiting::shown(gateway.tools(), || gateway.status()).await;
    waiting::say_failures(&gateway.status(), "");
    if io::stdin().is_terminal() {
        note(&format!("onecall: {} tools. :help lists the commands, :quit leaves.", tools.len()));
    }
    let mut keyboard = Some(Keyboard::new(Vocabulary::new(tools), history())?);
    // The first program starts a new session, whatever exists already.
    let mut fresh = true;
    loop {
        let mut reader = keyboard.take().context("the terminal is gone")?;
        // Reading blocks, and must not stop the messages of servers.
        let (reader, typed) = tokio::task::spawn_blocking(move || {
            let typed = reader.read();
            (reader, typed)
        })
        .await?;
        let reader = keyboard.insert(reader);
        let text = match typed? {
            Typed::Text(text) => text,
            Typed::Nothing => continue,
            Typed::End => break,
        };
        match text.trim().split_once(' ').unwrap_or((text.trim(), "")) {
            ("", _) => {}
            (":quit" | ":q" | "exit" | "quit" | "exit()" | "quit()", _) => break,
            (":help" | ":h" | "help", "") => say(HELP),
            (":reset", _) => {
                fresh = true;
                note("onecall: the next program starts without variables");
            }
            (":tools", words) => {
                print(&tools::table(gateway.search(words, SEARCH_RESULTS).await.iter()))?;
            }
            (":show", name) => show(gateway, name.trim()).await?,
            (command, _) if command.starts_with(':') => {
                say(&format!("onecall: there is no command {command}; :help lists the commands"));
            }
            _ => fresh = execute(gateway, text, fresh).await?,
        }
        if let Err(problem) = reader.keep_history() {
            tracing::warn!("{problem}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one program; returns whether the next one must start a new session.
async fn execute(gateway: &Gateway, code: String, fresh: bool) -> anyhow::Result<bool> {
    let session = SessionRequest::named(ClientId(0), "repl", fresh);
    let program = Program { session: Some(session), detail: Detail::Whole, ..Program::new(code) };
    let live = Live::new(Echo::Output);
    let outcome = live.unless_interrupted(gateway.run(&program, &live)).await;
    live.finish();
    let Some(outcome) = outcome else {
        say(&format!("onecall: interrupted after {}; the variables are gone", live.calls_made()));
        return Ok(true);
    };
    conclude(&outcome)?;
    Ok(false)
}

fn conclude(outcome: &Outcome) -> anyhow::Result<()> {
    let readable = Readable::new(io::stderr().is_terminal());
    if let Err(failure) = &outcome.result {
        say(&readable.text(&failure.to_string()));
    }
    if let Some(value) = &outcome.value
        && value.get() != "null"
    {
        print(&laid_out(value.get()))?;
    }
    for remark in &outcome.remarks {
        note(&readable.text(&format!("onecall: {remark}")));
    }
    Ok(())
}

async fn show(gateway: &Gateway, name: &str) -> anyhow::Result<()> {
    match gateway.inspect(name).await {
        Ok(spec) => {
            let description = spec.description.as_deref().unwrap_or_default();
            Ok(print(&format!(
                "{}\n{}\n",
                python_signature_with(&spec, gateway.observed(&spec).as_ref()),
                description.trim()
            ))?)
        }
        Err(not_found) => {
            say(&format!("onecall: {}", not_found.explanation()));
            Ok(())
        }
    }
}

/// The file of the history.
fn history() -> Option<PathBuf> {
    let environment = |name: &str| std::env::var(name).ok();
    let state = Directories::from_environment(&environment).state?.join("onecall");
    std::fs::create_dir_all(&state).ok()?;
    Some(state.join("history"))
}
