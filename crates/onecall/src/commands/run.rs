//! `onecall run`: a program from a file, its output as it comes.

use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_core::{Detail, Failure, Language, Outcome, Program};
use onecall_runtime::Transcript;

use crate::cli::{Global, RunArguments, engine};
use crate::commands::say;
use crate::live::{Echo, Live, tool_calls};
use crate::setup;
use crate::terminal::{Readable, print};

/// As `timeout(1)` has it.
const EXIT_TIMED_OUT: u8 = 124;

/// As shells report SIGINT.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

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
        let outcome = live.unless_interrupted(gateway.run(&program, &live)).await;
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
    let preview = setup::ask_gateway(global, async |gateway| gateway.preview(program).await)?;
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
