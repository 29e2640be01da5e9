//! `onecall run`: a program from a file, its output as it comes.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use onecall_core::{
    CallableName, Caller, Detail, Failure, Language, Outcome, Program, ToolCall, ToolError,
    ToolValue,
};
use onecall_runtime::{Observer, Transcript};

use crate::cli::{Global, RunArguments, engine};
use crate::commands::say;
use crate::setup;
use crate::spectator::Spectator;
use crate::terminal::{Readable, print};

/// As `timeout(1)` has it.
const EXIT_TIMED_OUT: u8 = 124;

/// As shells report SIGINT.
const EXIT_INTERRUPTED: u8 = 130;

/// A larger file is no program.
const MAX_PROGRAM_BYTES: u64 = 16 * 1024 * 1024;

/// Runs a program, or tells what it would do.
pub(crate) fn run(arguments: &RunArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let language = arguments.language.as_deref().and_then(Language::named);
    let language = language.unwrap_or_else(|| language_of(&arguments.file));
    let engine = arguments.engine.as_deref().and_then(engine);
    let program = Program {
        engine: language.engine(engine).map_err(anyhow::Error::msg)?,
        timeout: arguments.timeout,
        detail: if arguments.json { Detail::Whole } else { Detail::Brief },
        ..Program::new(read(&arguments.file, "program")?)
    };
    if arguments.dry_run {
        return preview(&program, global);
    }
    let live = Live::new(if arguments.json { Echo::Nothing } else { Echo::Output });
    let config = setup::load(global)?.config;
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(async {
        let gateway = setup::gateway(config)?;
        let outcome = tokio::select! {
            outcome = gateway.run(&program, &live) => Some(outcome),
            _ = tokio::signal::ctrl_c() => None,
        };
        gateway.shutdown().await;
        anyhow::Ok(outcome)
    });
    live.finish();
    runtime.shutdown_background();
    let Some(outcome) = outcome? else {
        say(&format!("onecall: interrupted after {}", live.calls_made()));
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    };
    if arguments.json {
        let path = arguments.file.to_str().filter(|path| *path != "-");
        print(&format!("{}\n", Transcript::new(&outcome, path).to_json()))?;
        return Ok(exit_code(&outcome));
    }
    conclude(&outcome);
    match live.lost_output() {
        Some(error) => {
            say(&format!("onecall: not all of the output could be written: {error}"));
            Ok(ExitCode::FAILURE)
        }
        None => Ok(exit_code(&outcome)),
    }
}

fn preview(program: &Program, global: &Global) -> anyhow::Result<ExitCode> {
    let preview = setup::with_gateway(global, async |gateway| gateway.preview(program).await)?;
    print(&format!("{preview}\n"))?;
    Ok(if preview.refusal.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What a program in `file` is written in.
fn language_of(file: &Path) -> Language {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("ts" | "mts" | "js" | "mjs") => Language::TypeScript,
        _ => Language::Python,
    }
}

/// The text of a program or a plan.
pub(crate) fn read(file: &Path, what: &str) -> anyhow::Result<String> {
    let (name, mut source): (String, Box<dyn Read>) = match file.to_str() {
        Some("-") => ("standard input".to_owned(), Box::new(io::stdin())),
        _ => {
            let opened = std::fs::File::open(file)
                .with_context(|| format!("cannot read the {what} '{}'", file.display()))?;
            (format!("'{}'", file.display()), Box::new(opened))
        }
    };
    let mut bytes = Vec::new();
    source
        .by_ref()
        .take(MAX_PROGRAM_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read the {what} from {name}"))?;
    if bytes.len() as u64 > MAX_PROGRAM_BYTES {
        bail!("the {what} in {name} is larger than {} MiB", MAX_PROGRAM_BYTES >> 20);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("the {what} in {name} is not UTF-8 text (byte {at} does not fit)")
    })
}

fn conclude(outcome: &Outcome) {
    let seconds = outcome.duration.as_secs_f64();
    let calls = tool_calls(outcome.calls.completed);
    for shown in &outcome.shown {
        let bytes = shown.data.len() / 4 * 3;
        say(&format!("onecall: it showed {} of about {bytes} bytes", shown.mime_type));
    }
    match &outcome.result {
        Ok(()) => say(&format!("onecall: done in {seconds:.2}s, {calls}")),
        Err(failure) => {
            say(&Readable::new(io::stderr().is_terminal()).text(&failure.to_string()));
            say(&format!("onecall: failed after {seconds:.2}s, {calls} completed"));
        }
    }
}

fn exit_code(outcome: &Outcome) -> ExitCode {
    match &outcome.result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::TimedOut { .. }) => ExitCode::from(EXIT_TIMED_OUT),
        Err(Failure::EngineUnavailable { .. }) => ExitCode::from(2),
        Err(_) => ExitCode::FAILURE,
    }
}

fn tool_calls(count: u64) -> String {
    if count == 1 { "1 tool call".to_owned() } else { format!("{count} tool calls") }
}

/// Whether output is shown as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Output,
    Nothing,
}

/// Shows what a program does while it does it.
pub(crate) struct Live {
    echo: Echo,
    state: Mutex<State>,
    /// Hidden where stderr is no terminal.
    spinner: ProgressBar,
}

struct State {
    stdout: Readable,
    stderr: Readable,
    /// Tool calls that have begun, and those of them that have ended.
    calls: u64,
    ended: u64,
    /// Why a part of stdout went nowhere, if one did.
    lost_output: Option<io::Error>,
}

impl Live {
    pub(crate) fn new(echo: Echo) -> Self {
        let spinner = if io::stderr().is_terminal() {
            ProgressBar::new_spinner()
                .with_style(ProgressStyle::default_spinner())
                .with_message("running")
        } else {
            ProgressBar::hidden()
        };
        spinner.enable_steady_tick(Duration::from_millis(100));
        let state = State {
            stdout: Readable::new(io::stdout().is_terminal()),
            stderr: Readable::new(io::stderr().is_terminal()),
            calls: 0,
            ended: 0,
            lost_output: None,
        };
        Self { echo, state: Mutex::new(state), spinner }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many tool calls were begun, in words.
    pub(crate) fn calls_made(&self) -> String {
        tool_calls(self.with_state(|state| state.calls))
    }

    /// Why output was lost, unless its reader simply had enough of it.
    fn lost_output(&self) -> Option<io::Error> {
        let error = self.with_state(|state| state.lost_output.take());
        error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    fn show_calls(&self, latest: &CallableName) {
        if self.spinner.is_hidden() {
            return;
        }
        let (calls, ended) = self.with_state(|state| (state.calls, state.ended));
        let running = calls.saturating_sub(ended);
        self.spinner
            .set_message(format!("{} done, {running} running: {latest}", tool_calls(ended)));
    }

    pub(crate) fn finish(&self) {
        self.spinner.finish_and_clear();
    }
}

impl Observer for Live {
    fn call_started(&self, call: &ToolCall) {
        self.with_state(|state| state.calls += 1);
        self.show_calls(&call.name);
    }

    fn call_ended(&self, name: &CallableName, _: &Result<ToolValue, ToolError>) {
        self.with_state(|state| state.ended += 1);
        self.show_calls(name);
    }

    fn client(&self) -> String {
        "command line".to_owned()
    }

    fn caller(&self) -> Option<Arc<dyn Caller>> {
        Some(Arc::new(Spectator(self.spinner.clone())))
    }

    // Output that cannot be written is told in the end; the program, whose calls may
    // matter more than what it prints, goes on.
    fn stdout(&self, bytes: &[u8]) {
        if self.echo == Echo::Nothing {
            return;
        }
        let shown = self.with_state(|state| state.stdout.bytes(bytes));
        let written = self.spinner.suspend(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&shown).and_then(|()| stdout.flush())
        });
        if let Err(error) = written {
            self.with_state(|state| state.lost_output.get_or_insert(error).kind());
        }
    }

    fn stderr(&self, bytes: &[u8]) {
        if self.echo == Echo::Nothing {
            return;
        }
        let shown = self.with_state(|state| state.stderr.bytes(bytes));
        self.spinner.suspend(|| {
            _ = io::stderr().write_all(&shown);
        });
    }
}
