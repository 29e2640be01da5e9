//! `onecall run`: runs one program and shows its output as it arrives.

use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_core::{EngineChoice, Failure, Outcome, OutcomeDetail, Program};
use onecall_engine::check_choice;
use onecall_runtime::Transcript;

use crate::cli::{Global, RunArguments};
use crate::commands::source::ProgramSource;
use crate::commands::{note, say};
use crate::live::{Echo, LiveProgress, tool_calls};
use crate::terminal::{EXIT_INTERRUPTED, TerminalEscaper, print};
use crate::terminal_questions::while_asking;
use crate::{setup, waiting};

/// The exit code for a timeout, as in `timeout(1)`.
const EXIT_TIMED_OUT: u8 = 124;

/// The largest program file in bytes.
const MAX_PROGRAM_BYTES: u64 = 16 * 1024 * 1024;

/// Runs a program, or reports what it would do.
pub(crate) fn run(arguments: &RunArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let source = ProgramSource::read(arguments)?;
    let engine = arguments.engine.as_deref().and_then(EngineChoice::named);
    check_choice(source.language, engine)?;
    let program = Program {
        language: source.language,
        engine,
        timeout: arguments.timeout,
        detail: if arguments.json { OutcomeDetail::Whole } else { OutcomeDetail::Brief },
        argv: source.argv.clone(),
        ..Program::new(source.code.as_str())
    };
    if arguments.dry_run {
        return preview(&program, &source, global);
    }
    let live = LiveProgress::new(if arguments.json { Echo::Nothing } else { Echo::Output });
    let loaded = setup::load(global)?;
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(async {
        let gateway = setup::gateway_on_demand(loaded)?;
        let run = async {
            gateway.wait_until_installed(&program).await;
            while_asking(&gateway, global, gateway.run(&program, &live)).await
        };
        let running = live.connecting(run, || gateway.status());
        let outcome = live.unless_interrupted(running).await;
        live.finish();
        let failure = outcome.as_ref().and_then(|outcome| outcome.result.as_ref().err());
        waiting::print_failures(
            &gateway.status(),
            &failure.map(ToString::to_string).unwrap_or_default(),
        );
        gateway.shutdown().await;
        anyhow::Ok(outcome)
    });
    runtime.shutdown_background();
    let Some(mut outcome) = outcome? else {
        say(&format!("onecall: interrupted after {}", live.calls_made()));
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    };
    source.insert_file_name(&mut outcome);
    if arguments.json {
        let path = arguments.path().and_then(Path::to_str);
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

fn preview(program: &Program, source: &ProgramSource, global: &Global) -> anyhow::Result<ExitCode> {
    let preview = setup::ask_gateway(global, async |gateway| gateway.preview(program).await)?;
    print(&format!("{}\n", source.named(&preview.to_string())))?;
    Ok(if preview.refusal.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads the text of a program or a plan.
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
        anyhow::anyhow!("the {what} in {name} is not UTF-8 text (byte {at} is not valid)")
    })
}

fn conclude(outcome: &Outcome) {
    let seconds = outcome.duration.as_secs_f64();
    let calls = tool_calls(outcome.calls.completed);
    for shown in &outcome.media {
        let bytes = shown.data.len() / 4 * 3;
        note(&format!("onecall: the program displayed {} of about {bytes} bytes", shown.mime_type));
    }
    let escaper = TerminalEscaper::new(io::stderr().is_terminal());
    match &outcome.result {
        Ok(()) => note(&format!("onecall: done in {seconds:.2}s, {calls}")),
        Err(failure) => {
            say(&escaper.text(&failure.to_string()));
            note(&format!("onecall: failed after {seconds:.2}s, {calls} completed"));
        }
    }
    for remark in &outcome.remarks {
        note(&escaper.text(&format!("onecall: {remark}")));
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
