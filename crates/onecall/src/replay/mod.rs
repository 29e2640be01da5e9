//! Replays: a recorded program runs again, and repeats with the recorded journal what it saw: the answers
//! of its tools in their order, clocks and random numbers. `onecall runs replay` and the page use this.

mod page;
mod recorded_tools;

pub(crate) use page::PageReplayer;

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use onecall_config::Config;
use onecall_core::storage::{RecordedJournal, ReplayData, RunDetail, RunRecord};
use onecall_core::{
    EngineChoice, Language, Outcome, Program, RunLimits, TotalLimits, WorkspaceAccess,
};
use onecall_engine::{ENGINES, Engines};
use onecall_runtime::{Journal, Observer, RunOptions, Runtime};

use self::recorded_tools::RecordedTools;
use crate::setup;

/// A recorded program that is about to run again.
pub(crate) struct PreparedReplay {
    program: Program,
    tools: Arc<RecordedTools>,
    journal: Arc<Journal>,
}

impl PreparedReplay {
    /// Prepares the replay of a recorded run, and takes the journal out of its record. The error says why
    /// the run cannot be replayed.
    pub(crate) fn of(record: &mut RunRecord) -> anyhow::Result<Self> {
        let recorded = recorded_journal(record)?;
        let run = &record.run;
        let tools = Arc::new(RecordedTools::new(record.tools.as_deref(), &recorded));
        let program = Program {
            language: Language::named(&run.language).unwrap_or_default(),
            engine: engine(&run.engine),
            argv: record.argv.clone(),
            ..Program::new(record.program.as_str())
        };
        let journal = Journal::replay(run.id.clone(), run.started, recorded);
        Ok(Self { program, tools, journal })
    }

    /// The journal of the replay, which knows afterwards what was different.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Runs the program to its end on the engines of [`replay_engines`]. Dropping the future kills it.
    pub(crate) async fn run(
        &self,
        engines: Arc<Engines>,
        limits: RunLimits,
        observer: &dyn Observer,
    ) -> Outcome {
        let options = RunOptions::journalled(Arc::clone(&self.journal));
        let runtime = Runtime::new(engines, self.tools.clone(), limits);
        runtime.run_with(&self.program, &options, observer).await
    }
}

/// The engines for replays. They differ from those for programs in two ways. The workspace cannot be
/// written: a run that wrote to it is not replayed, so only a program that differs from the recorded one
/// would. And programs do not wait for each other: a gateway admits replays with its programs, and
/// `onecall runs replay` has only one.
pub(crate) fn replay_engines(config: &Config, source: Option<&Path>) -> anyhow::Result<Engines> {
    let mut config = config.clone();
    if let Some(workspace) = &mut config.workspace {
        workspace.access = WorkspaceAccess::ReadOnly;
    }
    config.totals = TotalLimits { max_programs: usize::MAX, memory_bytes: Some(u64::MAX) };
    setup::engines(&config, source, None)
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
