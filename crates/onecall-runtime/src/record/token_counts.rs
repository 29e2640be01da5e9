//! Counts the tokens of runs that are recorded as a whole, some seconds after they have ended. A tokenizer takes
//! time and memory, so it is not a part of this process: a [`TokenCounter`] counts elsewhere, many runs at once.
//! Until then, and if that fails, a record has an estimate.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::{RunId, TokenUsage, ToolSpec};

use super::recording::FinishedRun;
use crate::StoreWriter;
use crate::call_log::LoggedCall;

/// How many runs may wait to be counted. Further ones keep their estimates.
const QUEUE_LENGTH: usize = 64;

/// How long runs are collected before they are counted together.
const COLLECTION_TIME: Duration = Duration::from_secs(2);

/// The bytes of text that are counted together. A run with more keeps its estimate.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Counts tokens in another process.
pub trait TokenCounter: Send + Sync {
    /// Counts the tokens of each text; `None` if they could not be counted.
    fn count(&self, texts: &[&str]) -> Option<Vec<u64>>;
}

/// The texts of a run that a model has read and written, and would have with direct calls.
pub(super) struct CountableRun {
    id: RunId,
    /// The definitions of all tools. Runs that could call the same tools share them.
    definitions: Arc<str>,
    /// The definitions of onecall's own tools.
    own_definitions: Arc<str>,
    /// The calls with their answers.
    calls: String,
    /// The program and its answer.
    program: String,
}

impl CountableRun {
    /// The texts of a run; `None` if not all of them are known, or they are too long.
    pub(super) fn new(
        run: &FinishedRun,
        definitions: &Arc<str>,
        own_definitions: &Arc<str>,
    ) -> Option<Self> {
        let answer = run.answer.as_deref()?;
        let is_complete = run.log.unlogged_calls == 0 && !run.header.kind.is_single_call();
        let mut calls = String::new();
        for call in run.log.calls.iter().filter(|_| is_complete) {
            add_call(&mut calls, run, call)?;
        }
        let countable = Self {
            id: run.header.id.clone(),
            definitions: Arc::clone(definitions),
            own_definitions: Arc::clone(own_definitions),
            calls,
            program: format!("{}\n{answer}", run.header.code),
        };
        (is_complete && countable.texts().map(str::len).iter().sum::<usize>() <= MAX_BATCH_BYTES)
            .then_some(countable)
    }

    fn texts(&self) -> [&str; 4] {
        [&self.definitions, &self.own_definitions, &self.calls, &self.program]
    }
}

/// Adds a call and its answer; `None` if one of them is not known as a whole.
fn add_call(calls: &mut String, run: &FinishedRun, call: &LoggedCall) -> Option<()> {
    let arguments = run.log.text(call.arguments);
    let answer = match call.end.as_ref().map(|end| &end.result) {
        Some(Ok((_, location)) | Err(location)) => Some(run.log.text(*location)),
        None => None,
    };
    let is_whole = arguments.is_whole() && answer.is_none_or(|answer| answer.is_whole());
    if !is_whole || calls.len() > MAX_BATCH_BYTES {
        return None;
    }
    for text in [call.name.as_str(), arguments.text, answer.map_or("", |answer| answer.text)] {
        calls.push_str(text);
        calls.push('\n');
    }
    Some(())
}

/// The definitions of tools as clients show them to their models.
pub(super) fn definitions(tools: &[Arc<ToolSpec>]) -> Arc<str> {
    let mut text = String::new();
    for spec in tools {
        let description = spec.description.as_deref().unwrap_or_default();
        text.push_str(&format!("{}\n{description}\n", spec.callable.as_str()));
        text.push_str(spec.input_schema.text());
        text.push('\n');
    }
    text.into()
}

/// The thread that collects runs and has them counted.
pub(super) struct TokenCounts(SyncSender<CountableRun>);

impl TokenCounts {
    /// Starts the thread. The counts are written to `store`.
    pub(super) fn start(counter: Arc<dyn TokenCounter>, store: Arc<StoreWriter>) -> Option<Self> {
        let (queue, runs) = mpsc::sync_channel(QUEUE_LENGTH);
        let work = move || count_all(&runs, counter.as_ref(), &store);
        thread::Builder::new().name("token counts".to_owned()).spawn(work).ok()?;
        Some(Self(queue))
    }

    /// Queues a run, unless too many wait.
    pub(super) fn submit(&self, run: CountableRun) {
        _ = self.0.try_send(run);
    }
}

fn count_all(runs: &Receiver<CountableRun>, counter: &dyn TokenCounter, store: &StoreWriter) {
    while let Ok(first) = runs.recv() {
        let batch = collect(first, runs);
        let texts: Vec<&str> = batch.iter().flat_map(CountableRun::texts).collect();
        let Some(counts) = counter.count(&texts) else { continue };
        for (run, counts) in batch.iter().zip(counts.chunks_exact(4)) {
            let [definitions, own, calls, program] = *counts else { continue };
            let (direct, onecall) =
                (definitions.saturating_add(calls), own.saturating_add(program));
            let (id, tokens) = (run.id.clone(), TokenUsage { direct, onecall, estimated: false });
            store.submit(0, move |store| store.set_run_tokens(&id, tokens).map(drop));
        }
    }
}

/// The runs that are counted together with this one.
fn collect(first: CountableRun, runs: &Receiver<CountableRun>) -> Vec<CountableRun> {
    let size = |run: &CountableRun| run.texts().map(str::len).iter().sum::<usize>();
    let (mut bytes, mut batch) = (size(&first), vec![first]);
    let deadline = Instant::now() + COLLECTION_TIME;
    while bytes < MAX_BATCH_BYTES && batch.len() < QUEUE_LENGTH {
        match runs.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(run) => {
                bytes = bytes.saturating_add(size(&run));
                batch.push(run);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}
