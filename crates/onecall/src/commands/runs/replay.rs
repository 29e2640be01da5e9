//! `onecall runs replay`: runs a recorded program again, and repeats with the recorded journal what it
//! saw: the answers of its tools in their order, clocks and random numbers.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use onecall_config::{Config, LoadedConfig};
use onecall_core::storage::{RecordedJournal, ReplayData, RunDetail, RunRecord};
use onecall_core::{EngineChoice, Language, Outcome, Program, WorkspaceAccess};
use onecall_engine::ENGINES;
use onecall_runtime::{Journal, Observer, Redactor, RunOptions, Runtime};
use onecall_server::{ReplayReport, Replayer, diff_lines};

use super::recorded_tools::RecordedTools;
use crate::commands::{note, say};
use crate::live::{Echo, LiveProgress};
use crate::setup;
use crate::terminal::neutralise;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 40;

pub(super) fn replay(mut record: RunRecord, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let live = LiveProgress::new(Echo::Output);
    let (outcome, journal) = run_again(&mut record, loaded, &live)?;
    live.finish();
    Ok(verdict(&record, &outcome, &journal))
}

/// Runs the program of a record again, and takes the journal out of the record.
fn run_again(
    record: &mut RunRecord,
    loaded: &LoadedConfig,
    observer: &dyn Observer,
) -> anyhow::Result<(Outcome, Arc<Journal>)> {
    let recorded = recorded_journal(record)?;
    let config = without_writes(&loaded.config);
    let run = &record.run;
    let tools = Arc::new(RecordedTools::new(record.tools.as_deref(), &recorded));
    let program = Program {
        language: Language::named(&run.language).unwrap_or_default(),
        engine: engine(&run.engine),
        argv: record.argv.clone(),
        ..Program::new(record.program.as_str())
    };
    let journal = Journal::replay(run.id.clone(), run.started, recorded);
    let options = RunOptions::journalled(Arc::clone(&journal));
    let engines = Arc::new(setup::engines(&config, loaded.source.as_deref(), None)?);
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(async {
        let limits = config.execution.clone();
        Runtime::new(engines, tools, limits).run_with(&program, &options, observer).await
    });
    runtime.shutdown_background();
    Ok((outcome, journal))
}

/// Replays runs for the page of this process.
pub(crate) struct LocalReplayer {
    loaded: LoadedConfig,
    /// Held by the replay under way: each starts an engine of its own.
    turn: Mutex<()>,
}

impl LocalReplayer {
    pub(crate) fn new(loaded: LoadedConfig) -> Self {
        Self { loaded, turn: Mutex::new(()) }
    }
}

/// Observes nothing.
struct Unobserved;

impl Observer for Unobserved {}

impl Replayer for LocalReplayer {
    fn replay(&self, mut record: RunRecord) -> Result<ReplayReport, String> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let again = run_again(&mut record, &self.loaded, &Unobserved);
        let (outcome, journal) = again.map_err(|error| format!("{error:#}"))?;
        let failure = outcome.result.as_ref().err().map(|failure| failure.summary());
        Ok(ReplayReport {
            output: outcome.stdout.text,
            error: failure.map(|error| (error.kind, error.message)),
            calls_left: journal.unrepeated_calls(),
        })
    }
}

/// The configuration with a workspace that cannot be written. A run that wrote to it is not replayed,
/// so only a program that differs from the recorded one would.
fn without_writes(config: &Config) -> Config {
    let mut config = config.clone();
    if let Some(workspace) = &mut config.workspace {
        workspace.access = WorkspaceAccess::ReadOnly;
    }
    config
}

/// Takes the journal out of a record. The error says why the run cannot be replayed.
fn recorded_journal(record: &mut RunRecord) -> anyhow::Result<RecordedJournal> {
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
    match std::mem::take(&mut record.replay) {
        ReplayData::None => bail!(
            "run {id} was recorded by an older version of onecall, which did not keep what a replay \
             needs; `onecall runs show {id}` shows the run, and a new run of its program can be replayed"
        ),
        ReplayData::Impossible(obstacle) => bail!(
            "run {id} cannot be replayed, because {}; `onecall runs show {id}` shows the run",
            obstacle.explanation()
        ),
        ReplayData::Journal(journal) => Ok(journal),
    }
}

/// The engine that ran a program; `None` if the run ended before one was chosen.
fn engine(name: &str) -> Option<EngineChoice> {
    let engine = ENGINES.iter().find(|engine| engine.name.name() == name);
    engine.map(|engine| EngineChoice::Only(engine.name))
}

/// Reports whether the replay had the same result.
fn verdict(record: &RunRecord, outcome: &Outcome, journal: &Journal) -> ExitCode {
    let run = &record.run;
    let before = run.error.as_ref().map(|(kind, _)| kind.as_str());
    let failure = outcome.result.as_ref().err().map(|failure| failure.summary());
    let now = failure.as_ref().map(|error| error.kind.as_str());
    let has_diverged = journal.divergence().is_some();
    if let Some(error) = &failure {
        say(&neutralise(&match has_diverged {
            true => format!("onecall: {}", error.message),
            false => format!("onecall: it failed with {}: {}", error.kind, error.message),
        }));
    }
    let left = journal.unrepeated_calls();
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
    if before != now && !has_diverged {
        let text = |kind: Option<&str>| kind.map_or("it succeeded".to_owned(), neutralise);
        say(&format!("onecall: the result is different: {} then, {} now", text(before), text(now)));
    }
    if difference.is_empty() && before == now {
        note(&format!("onecall: the same output as in run {}", run.id));
        return ExitCode::SUCCESS;
    }
    let redacted = Redactor::REPLACEMENT;
    if record.program.contains(redacted) || record.argv.iter().any(|it| it.contains(redacted)) {
        say(&format!(
            "onecall: the program was recorded with {redacted} in the place of secrets, which may be the \
             reason"
        ));
    }
    ExitCode::FAILURE
}
