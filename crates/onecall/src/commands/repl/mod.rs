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
use onecall_core::{ClientId, Outcome, OutcomeDetail, Program, SessionRequest};
use onecall_gateway::Gateway;

use self::completion::Completions;
use self::editor::{InputReader, ReplInput};
use crate::cli::Global;
use crate::commands::{note, say, tools};
use crate::live::{Echo, LiveProgress};
use crate::pretty_json::pretty_json;
use crate::terminal::{TerminalEscaper, print};
use crate::terminal_questions::while_telling;
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
        let result = read_and_run(&gateway, global).await;
        gateway.shutdown().await;
        result
    })
}

async fn read_and_run(gateway: &Gateway, global: &Global) -> anyhow::Result<ExitCode> {
    let tools = waiting::with_progress(gateway.tools(), || gateway.status()).await;
    waiting::print_failures(&gateway.status(), "");
    if io::stdin().is_terminal() {
        note(&format!("onecall: {} tools. :help lists the commands, :quit leaves.", tools.len()));
    }
    let mut input_reader = Some(InputReader::new(Completions::new(tools), history())?);
    // The first program starts a new session, whatever exists already.
    let mut is_new_session = true;
    loop {
        let mut reader = input_reader.take().context("the terminal is closed")?;
        // Reading blocks, and must not stop the messages of servers.
        let (reader, typed) = tokio::task::spawn_blocking(move || {
            let typed = reader.read();
            (reader, typed)
        })
        .await?;
        let reader = input_reader.insert(reader);
        let text = match typed? {
            ReplInput::Text(text) => text,
            ReplInput::Nothing => continue,
            ReplInput::End => break,
        };
        match text.trim().split_once(' ').unwrap_or((text.trim(), "")) {
            ("", _) => {}
            (":quit" | ":q" | "exit" | "quit" | "exit()" | "quit()", _) => break,
            (":help" | ":h" | "help", "") => say(HELP),
            (":reset", _) => {
                is_new_session = true;
                note("onecall: the next program starts without variables");
            }
            (":tools", words) => {
                print(&tools::table(gateway.search(words, SEARCH_RESULTS).await.iter()))?;
            }
            (":show", name) => show(gateway, name.trim()).await?,
            (command, _) if command.starts_with(':') => {
                say(&format!("onecall: there is no command {command}; :help lists the commands"));
            }
            _ => is_new_session = execute(gateway, global, text, is_new_session).await?,
        }
        if let Err(problem) = reader.save_history() {
            tracing::warn!("{problem}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one program; returns whether the next one must start a new session.
async fn execute(
    gateway: &Gateway,
    global: &Global,
    code: String,
    is_new_session: bool,
) -> anyhow::Result<bool> {
    let session = SessionRequest::named(ClientId(0), "repl", is_new_session);
    let program =
        Program { session: Some(session), detail: OutcomeDetail::Whole, ..Program::new(code) };
    let live = LiveProgress::new(Echo::Output);
    // The editor reads stdin, so questions are answered in another terminal.
    let work = while_telling(gateway, global, gateway.run(&program, &live));
    let outcome = live.unless_interrupted(work).await;
    live.finish();
    let Some(outcome) = outcome else {
        say(&format!("onecall: interrupted after {}; the variables are gone", live.calls_made()));
        return Ok(true);
    };
    conclude(&outcome)?;
    Ok(false)
}

fn conclude(outcome: &Outcome) -> anyhow::Result<()> {
    let escaper = TerminalEscaper::new(io::stderr().is_terminal());
    if let Err(failure) = &outcome.result {
        say(&escaper.text(&failure.to_string()));
    }
    if let Some(value) = &outcome.value
        && value.get() != "null"
    {
        print(&pretty_json(value.get()))?;
    }
    for remark in &outcome.remarks {
        note(&escaper.text(&format!("onecall: {remark}")));
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
