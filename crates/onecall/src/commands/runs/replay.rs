//! `onecall runs replay`: runs a recorded program again, with the recorded answers of its tools.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use onecall_config::LoadedConfig;
use onecall_core::storage::{RunDetail, RunRecord};
use onecall_core::{EngineChoice, Language, Outcome, Program};
use onecall_engine::ENGINES;
use onecall_runtime::Runtime;

use super::recorded::RecordedHost;
use crate::commands::{note, say};
use crate::line_diff::diff_lines;
use crate::live::{Echo, LiveProgress};
use crate::setup;
use crate::terminal::neutralise;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 40;

pub(super) fn replay(record: RunRecord, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let config = &loaded.config;
    let (id, run) = (&record.run.id, &record.run);
    if run.detail != RunDetail::Full {
        bail!(
            "run {id} was recorded without arguments and results; with `records: full` in the \
             configuration, later runs can be replayed"
        );
    }
    match run.kind.as_str() {
        "plan" => bail!("run {id} was a plan; only programs can be replayed"),
        "tool" | "call" => bail!("run {id} was a single call; only programs can be replayed"),
        _ => {}
    }
    if let Some(session) = &run.session {
        note(&format!(
            "onecall: the run was part of session '{}', whose variables do not exist now",
            neutralise(session)
        ));
    }
    let host = Arc::new(RecordedHost::new(&record));
    let program = Program {
        language: Language::named(&run.language).unwrap_or_default(),
        engine: engine(&run.engine),
        argv: record.argv.clone(),
        ..Program::new(record.program.as_str())
    };
    let engines = Arc::new(setup::engines(config, loaded.source.as_deref(), None)?);
    let live = LiveProgress::new(Echo::Output);
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(async {
        let limits = config.execution.clone();
        Runtime::new(engines, host.clone(), limits).run(&program, &live).await
    });
    live.finish();
    runtime.shutdown_background();
    Ok(verdict(&record, &outcome, host.unused_answers()))
}

/// The engine that ran a program; `None` if the program was refused before one was chosen.
fn engine(name: &str) -> Option<EngineChoice> {
    let engine = ENGINES.iter().find(|engine| engine.name.name() == name);
    engine.map(|engine| EngineChoice::Only(engine.name))
}

/// Reports whether the replay had the same result.
fn verdict(record: &RunRecord, outcome: &Outcome, left: usize) -> ExitCode {
    let run = &record.run;
    let before = run.error.as_ref().map(|(kind, _)| kind.as_str());
    let failure = outcome.result.as_ref().err().map(|failure| failure.summary());
    let now = failure.as_ref().map(|error| error.kind.as_str());
    if let Some(error) = &failure {
        say(&neutralise(&format!("onecall: it failed with {}: {}", error.kind, error.message)));
    }
    if left > 0 {
        let calls = if left == 1 { "call was" } else { "calls were" };
        say(&format!("onecall: {left} recorded {calls} not made this time"));
    }
    let output = record.output.as_deref().unwrap_or_default();
    let difference = diff_lines(output, &outcome.stdout.text);
    if !difference.is_empty() {
        say("onecall: the output is different (- then, + now):");
        for line in difference.iter().take(MAX_LINES) {
            say(line);
        }
        if difference.len() > MAX_LINES {
            say(&format!("… and {} more lines", difference.len() - MAX_LINES));
        }
    }
    if before != now {
        let text = |kind: Option<&str>| kind.map_or("it succeeded".to_owned(), neutralise);
        say(&format!("onecall: the result is different: {} then, {} now", text(before), text(now)));
    }
    if difference.is_empty() && before == now {
        note(&format!("onecall: the same output as in run {}", run.id));
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}
