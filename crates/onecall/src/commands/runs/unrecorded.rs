//! Durable runs without a record: they wait for a person, were interrupted, still run, or have ended and
//! their record is lost.

use std::collections::HashSet;

use onecall_config::Config;
use onecall_core::storage::{DurableRun, DurableState, DurableStore, QuestionFilter};
use onecall_core::text::visible_line;
use onecall_core::{RunId, Timestamp};
use onecall_gateway::redactor;
use serde_json::{Value, json};

use super::show::shown_user;
use crate::commands::cancel::find_run;
use crate::formatting::{age, terminal_width, wrap_lines};
use crate::store;
use crate::terminal::neutralise;

/// Among how many runs that have ended without a record one is found by its id.
const MAX_UNRECORDED: usize = 10_000;

/// How many lines of a program are shown.
const MAX_LINES: usize = 200;

/// A run without a record.
pub(super) struct UnrecordedRun {
    pub(super) run: DurableRun,
    state: UnrecordedState,
    /// The ids of the open questions, and the tools that they are about.
    questions: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnrecordedState {
    Running,
    Waiting,
    Interrupted,
    Ended,
}

impl UnrecordedState {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Ended => "unrecorded",
        }
    }
}

/// The runs that have not ended, newest first.
pub(super) fn unfinished_runs(config: &Config) -> anyhow::Result<Vec<UnrecordedRun>> {
    let Some(store) = store::open_existing(config) else { return Ok(Vec::new()) };
    let now = Timestamp::now();
    let runs = store.durable_runs(false)?.into_iter().rev();
    runs.map(|run| UnrecordedRun::read(store.as_ref(), run, now)).collect()
}

/// The newest runs that have ended and of which there is no record, newest first.
pub(super) fn unrecorded_runs(config: &Config, limit: usize) -> anyhow::Result<Vec<UnrecordedRun>> {
    let Some(store) = store::open_existing(config) else { return Ok(Vec::new()) };
    let now = Timestamp::now();
    let runs = store.unrecorded_runs(limit)?.into_iter();
    runs.map(|run| UnrecordedRun::read(store.as_ref(), run, now)).collect()
}

/// The runs among these that were continued from their journals.
pub(super) fn resumed_runs<'r>(
    config: &Config,
    runs: impl Iterator<Item = &'r RunId>,
) -> anyhow::Result<HashSet<RunId>> {
    let Some(store) = store::open_existing(config) else { return Ok(HashSet::new()) };
    let mut resumed = HashSet::new();
    for run in runs {
        let stored = store.durable_run(run)?;
        resumed.extend(stored.filter(|stored| stored.resumed > 0).map(|stored| stored.id));
    }
    Ok(resumed)
}

/// The run without a record whose id begins with `id`, if there is exactly one.
pub(super) fn find_unrecorded(config: &Config, id: &str) -> anyhow::Result<Option<UnrecordedRun>> {
    let Some(store) = store::open_existing(config) else { return Ok(None) };
    let mut runs = store.durable_runs(false)?;
    runs.extend(store.unrecorded_runs(MAX_UNRECORDED)?);
    let Ok(run) = find_run(id, runs) else { return Ok(None) };
    UnrecordedRun::read(store.as_ref(), run, Timestamp::now()).map(Some)
}

impl UnrecordedRun {
    fn read(store: &dyn DurableStore, run: DurableRun, now: Timestamp) -> anyhow::Result<Self> {
        let questions = match run.state {
            DurableState::Waiting => store.questions(&QuestionFilter {
                run: Some(run.id.clone()),
                open: true,
                ..QuestionFilter::default()
            })?,
            DurableState::Running | DurableState::Ended(_) => Vec::new(),
        };
        let questions: Vec<_> = questions
            .into_iter()
            .map(|stored| {
                let question = stored.question;
                (question.item.as_str().to_owned(), question.name.to_string())
            })
            .collect();
        let state = match (&run.state, questions.is_empty(), run.is_owned(now)) {
            (DurableState::Ended(_), ..) => UnrecordedState::Ended,
            (_, false, _) => UnrecordedState::Waiting,
            (_, true, true) => UnrecordedState::Running,
            (_, true, false) => UnrecordedState::Interrupted,
        };
        Ok(Self { run, state, questions })
    }

    /// Whether a process has continued the run from its journal.
    fn is_resumed(&self) -> bool {
        self.run.resumed > 0
    }

    /// What the run does, for one row.
    pub(super) fn outcome(&self) -> String {
        let resumed = if self.is_resumed() { ", resumed" } else { "" };
        let more = match (self.state, self.questions.as_slice()) {
            (UnrecordedState::Waiting, [(_, tool)]) => format!(": {tool}"),
            (UnrecordedState::Waiting, [(_, tool), more @ ..]) => {
                format!(": {tool} and {} more", more.len())
            }
            (UnrecordedState::Interrupted, _) => match self.run.in_place {
                None => "; `onecall resume` continues it".to_owned(),
                Some(reason) => format!("; {}", reason.explanation()),
            },
            (UnrecordedState::Ended, _) => match self.answer() {
                Some((_, true)) => ": it has failed, and has no record".to_owned(),
                _ => ": it has ended, and has no record".to_owned(),
            },
            _ => String::new(),
        };
        neutralise(&format!("{}{resumed}{more}", self.state.name()))
    }

    /// The text of the answer, and whether it is an error, if the run has ended.
    fn answer(&self) -> Option<(String, bool)> {
        let DurableState::Ended(answer) = &self.run.state else { return None };
        let result: Value = serde_json::from_str(&answer.result).ok()?;
        let texts = result["content"].as_array().into_iter().flatten();
        let text: Vec<&str> = texts.filter_map(|item| item["text"].as_str()).collect();
        Some((text.join("\n"), result["isError"] == true))
    }

    /// The run as JSON, without its program.
    pub(super) fn json(&self) -> Value {
        let questions: Vec<&str> = self.questions.iter().map(|(id, _)| id.as_str()).collect();
        json!({
            "id": self.run.id.as_str(),
            "started": self.run.started.to_string(),
            "user": self.run.principal.user.as_str(),
            "client": self.run.client,
            "kind": self.run.kind,
            "outcome": self.state.name(),
            "resumed": self.is_resumed(),
            "only_in_place": self.run.in_place.map(|reason| reason.explanation()),
            "questions": questions,
        })
    }

    /// Everything about the run, as JSON or as text.
    pub(super) fn details(&self, config: &Config, as_json: bool) -> String {
        let clean = redactor(config);
        let request: Value =
            serde_json::from_str(&clean.redact(self.run.request.clone())).unwrap_or(Value::Null);
        if as_json {
            let mut value = self.json();
            value["request"] = request;
            return format!("{value:#}\n");
        }
        let (now, width) = (Timestamp::now(), terminal_width());
        let in_place = self.run.in_place.map_or(String::new(), |reason| {
            format!("can only be continued by its own gateway: {}", reason.explanation())
        });
        let started = format!("{} ({})", self.run.started, age(now.since(self.run.started)));
        let mut text = format!("Run {}\n", self.run.id);
        let facts = [
            ("started", started),
            ("user", shown_user(&self.run.principal.user)),
            ("client", self.run.client.clone()),
            ("kind", self.run.kind.clone()),
            ("outcome", self.outcome()),
            ("note", in_place),
        ];
        for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
            let lines = wrap_lines(&visible_line(fact), width.saturating_sub(12));
            text.push_str(&format!("  {name:9} {}\n", lines.join("\n            ")));
        }
        if !self.questions.is_empty() {
            text.push_str("\nQuestions (`onecall approvals show ID` shows one)\n");
        }
        for (id, tool) in &self.questions {
            text.push_str(&format!("    {}  {}\n", visible_line(id), visible_line(tool)));
        }
        if let Some((answer, _)) = self.answer() {
            text.push_str("\nAnswer\n");
            let answer = clean.redact(answer);
            let shown = answer.lines().take(MAX_LINES);
            text.extend(shown.map(|line| format!("    {}\n", neutralise(line))));
        }
        if let Some(code) = request["code"].as_str() {
            text.push_str("\nProgram\n");
            let shown = code.lines().take(MAX_LINES);
            text.extend(shown.map(|line| format!("    {}\n", neutralise(line))));
        }
        text
    }
}
