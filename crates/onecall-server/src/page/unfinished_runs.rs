//! Runs that have not ended: durable ones, which are in the store, and others, which only the gateway that
//! runs them knows.

use maud::{Markup, html};
use onecall_core::storage::{DurableRun, DurableState};
use onecall_core::{RunId, Timestamp, UserName};
use onecall_runtime::RunningRun;
use serde_json::Value;

use super::context::PageContext;
use super::error::PageError;

/// A run that has not ended, or a durable one whose record is not stored yet.
pub(super) struct UnfinishedRun {
    pub(super) id: RunId,
    pub(super) started: Timestamp,
    pub(super) user: UserName,
    pub(super) client: String,
    pub(super) kind: String,
    /// How often another process has continued the run.
    pub(super) resumed: u64,
    pub(super) state: RunState,
    /// The source of the program, without the secrets of the configuration; empty if it was not asked for.
    pub(super) program: String,
}

/// What a run does that is not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// It waits for a person.
    Waiting,
    /// It runs, or waits until others end.
    Running,
    /// The process that ran it has disappeared.
    Interrupted,
    /// It has ended, and its record is not stored yet.
    Ended,
}

impl RunState {
    /// All states of runs that have not ended, with their names in filters and their labels.
    pub(super) const UNFINISHED: [(Self, &'static str, &'static str); 3] = [
        (Self::Waiting, "waiting", "waits for a person"),
        (Self::Running, "running", "running"),
        (Self::Interrupted, "interrupted", "interrupted"),
    ];

    /// The state that a filter is for, if it is for one of these.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::UNFINISHED.into_iter().find(|(_, known, _)| *known == name).map(|(state, ..)| state)
    }

    /// The state as a tag.
    pub(super) fn tag(self, run: &RunId) -> Markup {
        html! {
            @match self {
                Self::Waiting => a.tag.wait href={ "/page/inbox#run-" (run) } { "waits for a person" },
                Self::Running => span.tag.wait { "running" },
                Self::Interrupted => span.tag.bad { "interrupted" },
                Self::Ended => "ended",
            }
        }
    }
}

/// Whether the sources of programs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Read,
    LeftOut,
}

/// The runs that have not ended and that the reader sees, newest first.
pub(super) fn list(context: &PageContext, source: Source) -> Result<Vec<UnfinishedRun>, PageError> {
    let durable = context.store.durable_runs(false)?;
    let durable = durable.iter().filter(|run| context.viewer.sees_durable(run));
    let mut runs: Vec<_> = durable.map(|run| of_durable(context, run, source)).collect();
    let running = context
        .gateway
        .running_runs(|run| context.viewer.sees(run.user).then(|| of_running(run, source)));
    runs.extend(running.into_iter().flatten().map(|run| redacted(context, run)));
    runs.sort_by(|one, other| (other.started, &other.id).cmp(&(one.started, &one.id)));
    Ok(runs)
}

/// The run with this identifier, if the reader sees it and it is not recorded yet.
pub(super) fn find(context: &PageContext, id: &RunId) -> Result<Option<UnfinishedRun>, PageError> {
    let durable = context.store.durable_run(id)?;
    if let Some(run) = durable {
        let is_seen = context.viewer.sees_durable(&run);
        return Ok(is_seen.then(|| of_durable(context, &run, Source::Read)));
    }
    let running = context.gateway.running_runs(|run| {
        let is_seen = run.id == id && context.viewer.sees(run.user);
        is_seen.then(|| of_running(run, Source::Read))
    });
    Ok(running.into_iter().flatten().next().map(|run| redacted(context, run)))
}

fn of_durable(context: &PageContext, run: &DurableRun, source: Source) -> UnfinishedRun {
    let is_leased = run.is_owned(context.now);
    let program = match source {
        Source::Read => context.redacted(&program_of(&run.request).unwrap_or_default()),
        Source::LeftOut => String::new(),
    };
    UnfinishedRun {
        id: run.id.clone(),
        started: run.started,
        user: run.principal.user.clone(),
        client: run.client.clone(),
        kind: run.kind.clone(),
        resumed: run.resumed,
        state: match run.state {
            DurableState::Ended(_) => RunState::Ended,
            DurableState::Waiting => RunState::Waiting,
            _ if is_leased => RunState::Running,
            _ => RunState::Interrupted,
        },
        program,
    }
}

/// A run of this gateway. Its source still has secrets: they are removed when the run is not held up any more.
fn of_running(run: RunningRun<'_>, source: Source) -> UnfinishedRun {
    UnfinishedRun {
        id: run.id.clone(),
        started: run.started,
        user: run.user.clone(),
        client: run.client.to_owned(),
        kind: run.kind.name().to_owned(),
        resumed: 0,
        state: RunState::Running,
        program: if source == Source::Read { run.code.to_owned() } else { String::new() },
    }
}

fn redacted(context: &PageContext, run: UnfinishedRun) -> UnfinishedRun {
    UnfinishedRun { program: context.redacted(&run.program), ..run }
}

/// The source of the program in the request of a run.
pub(super) fn program_of(request: &str) -> Option<String> {
    let request: Value = serde_json::from_str(request).ok()?;
    request.get("code")?.as_str().map(str::to_owned)
}
