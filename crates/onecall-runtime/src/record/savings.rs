//! What a model would have read and written with direct calls, against what it did.
//!
//! Direct calls are counted as a client would have put them into the model's context: the
//! definitions of all tools once, and each call with its arguments and its result. With
//! onecall it is our definitions, the program and the answer. Of long results only the
//! beginning was kept; the rest is taken to be like it, and the figure is marked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::{CallableName, Tokens, ToolSpec};
use serde_json::json;

use super::recording::Finished;
use super::tokenizer::Tokenizer;
use crate::call_log::{Excerpt, LoggedCall, LoggedCalls};

/// The tokenizer is forgotten when nobody has needed it for this long.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Bytes of calls that are counted exactly in one run; the others are taken to be like
/// these.
const COUNTED: usize = 256 * 1024;

/// Bytes of definitions that are counted exactly.
const COUNTED_DEFINITIONS: usize = 2 * 1024 * 1024;

/// What text is taken for where nothing of it was counted: bytes to a token.
const BYTES_A_TOKEN: u64 = 4;

/// Counts on the recorder's thread.
#[derive(Default)]
pub(super) struct Counter {
    tokenizer: Option<Tokenizer>,
    /// What the tools were when they were last counted, and what that came to.
    tools: Vec<Arc<ToolSpec>>,
    definitions: Count,
    own: (String, u64),
}

/// A number of tokens, and whether it is exact.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    tokens: u64,
    estimated: bool,
}

/// What a run was worth, and what each of its calls would have been.
pub(super) type Worth = (Tokens, Vec<u64>);

impl Counter {
    /// Whether it can count; otherwise it estimates.
    pub(super) fn is_ready(&self) -> bool {
        self.tokenizer.is_some()
    }

    /// Loads what it needs to count.
    pub(super) fn prepare(&mut self) {
        if self.tokenizer.is_none() {
            self.tokenizer = load();
            // They may have been estimated so far.
            (self.tools, self.own) = Default::default();
        }
    }

    /// Frees what takes much memory.
    pub(super) fn rest(&mut self) {
        self.tokenizer = None;
    }

    /// Counts, or estimates if it is not ready.
    pub(super) fn count(
        &mut self,
        run: &Finished,
        tools: &[Arc<ToolSpec>],
        own_definitions: &str,
    ) -> Worth {
        let definitions = self.definitions(tools);
        if self.own.0 != own_definitions {
            let tokens = self.meter(usize::MAX).whole(own_definitions);
            self.own = (own_definitions.to_owned(), tokens);
        }
        let log = &run.log;
        let mut meter = self.meter(COUNTED);
        let calls: Vec<u64> = log.calls.iter().map(|call| meter.call(log, call)).collect();
        let noted: u64 = calls.iter().sum();
        // Those that were too many to note are taken to be like the others.
        let count = u64::try_from(calls.len()).unwrap_or(u64::MAX).max(1);
        let more = log.more.saturating_mul(noted / count);
        let mut ours = self.meter(usize::MAX);
        let onecall = self.own.1 + ours.whole(&run.about.code) + ours.text(log.text(log.answer));
        let tokens = Tokens {
            direct: definitions.tokens.saturating_add(noted).saturating_add(more),
            onecall,
            estimated: definitions.estimated || meter.estimated || ours.estimated || more > 0,
        };
        (tokens, calls)
    }

    fn definitions(&mut self, tools: &[Arc<ToolSpec>]) -> Count {
        let is_same = self.tools.len() == tools.len()
            && self.tools.iter().zip(tools).all(|(old, new)| Arc::ptr_eq(old, new));
        if !is_same {
            let mut meter = self.meter(COUNTED_DEFINITIONS);
            let tokens = tools.iter().map(|spec| meter.whole(&definition(spec))).sum();
            let estimated = meter.estimated;
            self.definitions = Count { tokens, estimated };
            self.tools = tools.to_vec();
        }
        self.definitions
    }

    fn meter(&self, room: usize) -> Meter<'_> {
        let room = if self.is_ready() { room } else { 0 };
        Meter {
            tokenizer: self.tokenizer.as_ref(),
            room,
            counted_bytes: 0,
            counted_tokens: 0,
            estimated: false,
            names: HashMap::new(),
        }
    }
}

fn load() -> Option<Tokenizer> {
    let begun = Instant::now();
    match Tokenizer::load() {
        Ok(tokenizer) => {
            tracing::debug!("the tokenizer was loaded in {:?}", begun.elapsed());
            Some(tokenizer)
        }
        Err(error) => {
            tracing::debug!("no tokens are counted: {error}");
            None
        }
    }
}

/// A tool as clients show it to their models.
fn definition(spec: &ToolSpec) -> String {
    let definition = json!({
        "name": spec.callable.as_str(),
        "description": spec.description.as_deref(),
        "input_schema": spec.input_schema,
    });
    definition.to_string()
}

/// Counts texts up to a number of bytes, and estimates the others from them.
struct Meter<'t> {
    tokenizer: Option<&'t Tokenizer>,
    room: usize,
    counted_bytes: u64,
    counted_tokens: u64,
    estimated: bool,
    /// Names of tools, which come again and again.
    names: HashMap<CallableName, u64>,
}

impl Meter<'_> {
    fn whole(&mut self, text: &str) -> u64 {
        self.text(Excerpt::whole(text))
    }

    fn call(&mut self, log: &LoggedCalls, call: &LoggedCall) -> u64 {
        let name = match self.names.get(&call.name) {
            Some(tokens) => *tokens,
            None => {
                let tokens = self.whole(call.name.as_str());
                self.names.insert(call.name.clone(), tokens);
                tokens
            }
        };
        let asked = name.saturating_add(self.text(log.text(call.arguments)));
        let answered = match call.end.as_ref().map(|end| &end.result) {
            Some(Ok((_, place)) | Err(place)) => self.text(log.text(*place)),
            None => 0,
        };
        asked.saturating_add(answered)
    }

    fn text(&mut self, text: Excerpt<'_>) -> u64 {
        let sample = text.within(self.room).text;
        let tokens = self.tokenizer.map_or(0, |tokenizer| tokenizer.count(sample));
        self.room -= sample.len();
        let as_count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let (sampled, all) = (as_count(sample.len()), as_count(text.bytes));
        self.counted_bytes += sampled;
        self.counted_tokens += tokens;
        if sampled == all {
            return tokens;
        }
        self.estimated = true;
        // The text's own beginning says more about it than other texts do.
        let (tokens, bytes) = match (sampled, self.counted_bytes) {
            (0, 0) => (1, BYTES_A_TOKEN),
            (0, counted) => (self.counted_tokens, counted),
            (sampled, _) => (tokens, sampled),
        };
        let scaled = u128::from(all) * u128::from(tokens) / u128::from(bytes);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_estimated_from_its_beginning() {
        let mut counter = Counter::default();
        counter.prepare();
        let text = "{\"id\": 12, \"name\": \"Ada\"},".repeat(1_000);
        let mut meter = counter.meter(usize::MAX);
        let exact = meter.whole(&text);
        assert!(!meter.estimated);
        let estimated = meter.text(Excerpt::whole(&text).within(2_600));
        assert!(meter.estimated);
        assert!(estimated.abs_diff(exact) * 100 < exact, "{estimated} instead of {exact}");
        // Nothing of it was kept: the others tell.
        let unseen = meter.text(Excerpt::whole(&text).within(0));
        assert!(unseen.abs_diff(exact) * 100 < exact, "{unseen} instead of {exact}");
    }

    #[test]
    fn who_is_not_ready_estimates() {
        let counter = Counter::default();
        let mut meter = counter.meter(usize::MAX);
        assert_eq!((meter.whole(""), meter.estimated), (0, false));
        assert_eq!((meter.whole("12345678"), meter.estimated), (2, true));
    }
}
