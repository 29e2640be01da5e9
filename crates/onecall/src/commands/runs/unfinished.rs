//! Durable runs that have not ended: they wait for a person, were interrupted, or still run.

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

/// How many lines of a program are shown.
const MAX_LINES: usize = 200;

/// A run that has not ended.
pub(super) struct UnfinishedRun {
    pub(super) run: DurableRun,
    state: UnfinishedState,
    /// The ids of the open questions, and the tools that they are about.
    questions: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnfinishedState {
    Running,
    Waiting,
    Interrupted,
}

impl UnfinishedState {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The runs that have not ended, newest first.
pub(super) fn unfinished_runs(config: &Config) -> anyhow::Result<Vec<UnfinishedRun>> {
    let Some(store) = store::open_existing(config) else { return Ok(Vec::new()) };
    let now = Timestamp::now();
    let runs = store.durable_runs(false)?.into_iter().rev();
    runs.map(|run| UnfinishedRun::read(store.as_ref(), run, now)).collect()
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

/// The run that has not ended and whose id begins with `id`, if there is exactly one.
pub(super) fn find_unfinished(config: &Config, id: &str) -> anyhow::Result<Option<UnfinishedRun>> {
    let Some(store) = store::open_existing(config) else { return Ok(None) };
    let Ok(run) = find_run(id, store.durable_runs(false)?) else { return Ok(None) };
    UnfinishedRun::read(store.as_ref(), run, Timestamp::now()).map(Some)
}

impl UnfinishedRun {
    fn read(store: &dyn DurableStore, run: DurableRun, now: Timestamp) -> anyhow::Result<Self> {
        let questions = match run.state {
            DurableState::Waiting => {
                store.questions(&QuestionFilter { run: Some(run.id.clone()), open: true })?
            }
            DurableState::Running | DurableState::Ended(_) => Vec::new(),
        };
        let questions: Vec<_> = questions
            .into_iter()
            .map(|stored| {
                let question = stored.question;
                (question.item.as_str().to_owned(), question.name.to_string())
            })
            .collect();
        let is_owned = run.lease.as_ref().is_some_and(|lease| lease.until > now);
        let state = match (questions.is_empty(), is_owned) {
            (false, _) => UnfinishedState::Waiting,
            (true, true) => UnfinishedState::Running,
            (true, false) => UnfinishedState::Interrupted,
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
            (UnfinishedState::Waiting, [(_, tool)]) => format!(": {tool}"),
            (UnfinishedState::Waiting, [(_, tool), more @ ..]) => {
                format!(": {tool} and {} more", more.len())
            }
            (UnfinishedState::Interrupted, _) => match self.run.in_place {
                None => "; `onecall resume` continues it".to_owned(),
                Some(reason) => format!("; {}", reason.explanation()),
            },
            _ => String::new(),
        };
        neutralise(&format!("{}{resumed}{more}", self.state.name()))
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
        if let Some(code) = request["code"].as_str() {
            text.push_str("\nProgram\n");
            let shown = code.lines().take(MAX_LINES);
            text.extend(shown.map(|line| format!("    {}\n", neutralise(line))));
        }
        text
    }
}
