//! The entries of a call log: one per call, with as much of its arguments and result as the outcome
//! and the record of the run need.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{
    AnswerOrigin, AnsweredVerdict, CallEnd, CallRecord, CallResult, CallSummary, CallableName,
    Decision, Digest, LogIndex, OutcomeDetail, RecordedResult, ResolvedCall, ToolError, ToolSpec,
    ToolValue, Verdict,
};

use super::text_buffers::{Excerpt, TextBuffers, TextLocation};

/// Bytes of one call's arguments that are kept until the recorder hashes them.
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// Bytes of arguments that are always kept: the report of a failed run quotes them.
const BRIEF_ARGUMENT_BYTES: usize = 200;

/// Bytes of arguments that one run may keep until they are hashed, if its record has no texts.
const MAX_UNHASHED_BYTES: usize = 512 * 1024;

/// Bytes of arguments and results that a full record may keep.
const MAX_FULL_BYTES: usize = 32 * 1024 * 1024;

/// Bytes of arguments and answers that an outcome with `OutcomeDetail::Whole` may keep.
const MAX_WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of program output that a full record keeps.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of an error message that are kept even if the log is full. This is more than a record
/// keeps, so that the redactor sees each secret as a whole before the message is cut.
const MIN_ERROR_BYTES: usize = 4 * 1024;

/// Calls of one run that get an entry; later ones are only counted.
const MAX_CALLS: usize = 10_000;

/// One call: its arguments, the decision whether it may be made, and how it ended.
#[derive(Debug)]
pub(crate) struct LoggedCall {
    pub(crate) id: u64,
    pub(crate) name: CallableName,
    /// The tool that the name resolved to, if any.
    pub(crate) tool: Option<Arc<ToolSpec>>,
    pub(crate) arguments: TextLocation,
    /// The hash of arguments that are too long to be kept whole, for the record.
    pub(crate) hash: Option<Box<Digest>>,
    pub(crate) started: Duration,
    /// Whether the call may be made; `None` if it ended before that was decided.
    pub(crate) decision: Option<Decision>,
    /// Whether a person denied the call.
    is_denied: bool,
    pub(crate) end: Option<LoggedEnd>,
}

impl LoggedCall {
    /// The rule that rejected the call, if it was rejected: by the configuration or by a person.
    pub(crate) fn denied_by(&self) -> Option<String> {
        match &self.decision {
            Some(Decision::Deny(rule)) => Some(rule.name().into_owned()),
            Some(Decision::Ask(rule)) if self.is_denied => Some(rule.name()),
            _ => None,
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct LoggedEnd {
    pub(crate) duration: Duration,
    /// The kind and the text of the result, or the error message.
    pub(crate) result: Result<(&'static str, TextLocation), TextLocation>,
    /// Whether the answer comes from the cache.
    pub(crate) is_cached: bool,
    /// Whether the call got as far as the tool.
    was_sent: bool,
    /// The answer itself, kept for an outcome with `OutcomeDetail::Whole`.
    value: Option<ToolValue>,
}

/// How much of each call the record of a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordDetail {
    /// Nothing: the run is not recorded.
    None,
    /// Names, times, sizes and hashes.
    Metadata,
    /// Everything.
    Full,
}

/// The log entries of one run, and what it printed.
#[derive(Debug)]
pub(crate) struct LoggedCalls {
    detail: OutcomeDetail,
    record_detail: RecordDetail,
    texts: TextBuffers,
    /// Bytes of the values that are kept in addition to the texts.
    value_bytes: usize,
    completed: u64,
    pub(crate) calls: Vec<LoggedCall>,
    /// How many calls began after the log was full.
    pub(crate) unlogged_calls: u64,
    /// What the program printed, as far as a record keeps it.
    pub(crate) output: TextLocation,
    /// The size of the answer that the agent gets, in bytes.
    pub(crate) answer_bytes: usize,
}

impl LoggedCalls {
    pub(super) fn new(detail: OutcomeDetail, record_detail: RecordDetail) -> Self {
        Self {
            detail,
            record_detail,
            texts: TextBuffers::default(),
            value_bytes: 0,
            completed: 0,
            calls: Vec::new(),
            unlogged_calls: 0,
            output: TextLocation::default(),
            answer_bytes: 0,
        }
    }

    /// Takes all entries out. Entries that are still open cannot be completed afterwards.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.detail, self.record_detail);
        std::mem::replace(self, empty)
    }

    /// Adds an entry for a call that begins; a full log only counts the call.
    pub(super) fn begin(&mut self, call: &ResolvedCall, started: Duration) -> LogIndex {
        if self.calls.len() == MAX_CALLS {
            self.unlogged_calls += 1;
            return LogIndex(None);
        }
        let room = self.arguments_room().max(self.whole_room()).max(BRIEF_ARGUMENT_BYTES);
        let arguments = Excerpt::whole(call.arguments.get()).within(room);
        let is_hashed = self.record_detail != RecordDetail::None && !arguments.is_whole();
        let hash = is_hashed.then(|| Box::new(Digest::of(call.arguments.get())));
        self.calls.push(LoggedCall {
            id: call.id,
            name: call.name.clone(),
            tool: call.tool.as_ref().ok().cloned(),
            arguments: self.texts.keep(arguments, usize::MAX),
            hash,
            started,
            decision: None,
            is_denied: false,
            end: None,
        });
        LogIndex(Some(self.calls.len() - 1))
    }

    /// Logs whether a call may be made.
    pub(super) fn decide(&mut self, LogIndex(entry): LogIndex, decision: &Decision) {
        if let Some(call) = entry.and_then(|entry| self.calls.get_mut(entry)) {
            call.decision = Some(decision.clone());
        }
    }

    /// Logs what a person decided about a call.
    pub(super) fn verdict(&mut self, LogIndex(entry): LogIndex, answer: &AnsweredVerdict) {
        if let Some(call) = entry.and_then(|entry| self.calls.get_mut(entry)) {
            call.is_denied = matches!(answer.verdict, Verdict::Deny { .. } | Verdict::GiveUp);
        }
    }

    /// Logs how a call ended. A call without an entry is only counted.
    pub(super) fn end(&mut self, LogIndex(entry): LogIndex, now: Duration, result: &CallResult) {
        self.completed += u64::from(result.is_ok());
        let Some(entry) = entry else { return };
        let room = self.full_room();
        let whole_room = self.whole_room();
        let mut keep = |text, room| self.texts.keep(Excerpt::whole(text), room);
        let mut kept = None;
        let logged = match result.as_ref().map(|answer| &answer.value) {
            Ok(value) => {
                kept = (value.size() <= whole_room).then(|| value.clone());
                match value {
                    ToolValue::Nothing => Ok(("nothing", TextLocation::default())),
                    _ if room == 0 => Ok((value.kind(), TextLocation::of_size(value.size()))),
                    value => {
                        let (kind, text) = value.encode();
                        Ok((kind, keep(&text, room)))
                    }
                }
            }
            Err(error) => {
                let room = room.max(whole_room).max(MIN_ERROR_BYTES);
                Err(keep(&error.to_string(), room))
            }
        };
        self.value_bytes += kept.as_ref().map_or(0, ToolValue::size);
        if let Some(call) = self.calls.get_mut(entry) {
            call.end = Some(LoggedEnd {
                duration: now.saturating_sub(call.started),
                result: logged,
                is_cached: result.as_ref().is_ok_and(|it| it.origin == AnswerOrigin::Cache),
                was_sent: matches!(result, Ok(_) | Err(ToolError::Failed { .. })),
                value: kept,
            });
        }
    }

    /// The calls as the outcome of the run lists them. A run that succeeded lists its calls only
    /// with `OutcomeDetail::Whole`; otherwise the outcome has just their number.
    pub(super) fn calls_for_outcome(&self, has_failed: bool) -> CallSummary {
        let is_listed = has_failed || self.detail == OutcomeDetail::Whole;
        let listed = self.calls.iter().filter(|_| is_listed);
        CallSummary {
            completed: self.completed,
            records: listed.map(|call| self.record(call)).collect(),
            unrecorded: if is_listed { self.unlogged_calls } else { 0 },
        }
    }

    fn record(&self, call: &LoggedCall) -> CallRecord {
        let mut arguments = self.text(call.arguments);
        if self.detail == OutcomeDetail::Brief {
            arguments = arguments.within(BRIEF_ARGUMENT_BYTES);
        }
        let is_read_only = |spec: &Arc<ToolSpec>| spec.annotations.read_only_hint == Some(true);
        CallRecord {
            id: call.id,
            name: call.name.clone(),
            arguments: arguments.text.to_owned(),
            has_all_arguments: arguments.is_whole(),
            is_read_only: call.tool.as_ref().is_some_and(is_read_only),
            started: call.started,
            cached: call.end.as_ref().is_some_and(|end| end.is_cached),
            end: call.end.as_ref().map(|end| CallEnd {
                duration: end.duration,
                result: match end.result {
                    Ok(_) => {
                        end.value.clone().map_or(RecordedResult::NotKept, RecordedResult::Value)
                    }
                    Err(error) => RecordedResult::Failed(self.text(error).text.to_owned()),
                },
                sent: end.was_sent,
            }),
        }
    }

    /// Adds what the run printed and the size of the answer for its agent.
    pub(crate) fn set_output(&mut self, output: &str, answer: &str) {
        let room = if self.record_detail == RecordDetail::Full { MAX_OUTPUT_BYTES } else { 0 };
        self.output = self.texts.keep(Excerpt::whole(output), room);
        self.answer_bytes = answer.len();
    }

    /// The approximate size of the entries in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.texts.bytes + self.value_bytes + self.calls.len() * size_of::<LoggedCall>()
    }

    pub(crate) fn text(&self, location: TextLocation) -> Excerpt<'_> {
        self.texts.get(location)
    }

    /// How many bytes of the next call's arguments the record needs.
    fn arguments_room(&self) -> usize {
        match self.record_detail {
            RecordDetail::None => 0,
            RecordDetail::Metadata => {
                MAX_ARGUMENT_BYTES.min(MAX_UNHASHED_BYTES.saturating_sub(self.texts.bytes))
            }
            RecordDetail::Full => self.full_room(),
        }
    }

    /// How many bytes of the next text a full record may keep; other records keep no texts.
    fn full_room(&self) -> usize {
        match self.record_detail {
            RecordDetail::None | RecordDetail::Metadata => 0,
            RecordDetail::Full => MAX_FULL_BYTES.saturating_sub(self.texts.bytes),
        }
    }

    /// How many bytes of the next text an outcome with `OutcomeDetail::Whole` may keep.
    fn whole_room(&self) -> usize {
        match self.detail {
            OutcomeDetail::Brief => 0,
            OutcomeDetail::Whole => {
                MAX_WHOLE_BYTES.saturating_sub(self.texts.bytes + self.value_bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{
        Answer, AnswerForm, Freshness, Principal, RunContext, RunId, RunKind, ToolError,
    };
    use serde_json::value::RawValue;

    use super::*;

    fn noted(log: &mut LoggedCalls, arguments: &str, result: Result<ToolValue, ToolError>) {
        let name = CallableName::new("mcp__s__t");
        let call = ResolvedCall {
            id: 1,
            tool: Err(ToolError::NotAvailable { name: name.clone() }),
            name,
            revision: 0,
            arguments: RawValue::from_string(arguments.to_owned()).unwrap(),
            form: AnswerForm::Value,
            freshness: Freshness::default(),
            site: None,
            run: Arc::new(RunContext {
                id: RunId::from_existing("run"),
                kind: RunKind::Program,
                principal: Arc::new(Principal::local()),
                client: String::new(),
                program: None,
                language: onecall_core::Language::Python,
                caller: None,
            }),
            log_index: LogIndex::default(),
        };
        let entry = log.begin(&call, Duration::ZERO);
        log.end(entry, Duration::from_millis(1), &result.map(Answer::live));
    }

    fn kept(log: &LoggedCalls, location: TextLocation) -> (usize, usize) {
        let text = log.text(location);
        (text.text.len(), text.bytes)
    }

    /// What is kept of each call's arguments and result, and what there was.
    fn all_kept(log: &LoggedCalls) -> Vec<[(usize, usize); 2]> {
        let result = |call: &LoggedCall| match call.end.as_ref().unwrap().result {
            Ok((_, location)) | Err(location) => kept(log, location),
        };
        log.calls.iter().map(|call| [kept(log, call.arguments), result(call)]).collect()
    }

    #[test]
    fn a_full_record_has_everything_and_another_the_sizes() {
        let arguments = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
        let logged = |record_detail| {
            let mut log = LoggedCalls::new(OutcomeDetail::Brief, record_detail);
            for _ in 0..100 {
                noted(&mut log, &arguments, Ok(ToolValue::Text("y".repeat(10_000))));
            }
            noted(&mut log, "{}", Ok(ToolValue::Nothing));
            log.set_output("printed", "answered");
            log
        };
        let full = logged(RecordDetail::Full);
        assert!(full.calls.iter().all(|call| call.hash.is_none()));
        let mut whole = vec![[(20_008, 20_008), (10_000, 10_000)]; 100];
        whole.push([(2, 2), (0, 0)]);
        assert_eq!(all_kept(&full), whole);
        assert_eq!((full.text(full.output).text, full.answer_bytes), ("printed", 8));

        let metadata = logged(RecordDetail::Metadata);
        let kept = all_kept(&metadata);
        assert_eq!(kept[0], [(16 * 1024, 20_008), (0, 10_000)]);
        assert_eq!(kept[99], [(BRIEF_ARGUMENT_BYTES, 20_008), (0, 10_000)]);
        assert_eq!((metadata.output.bytes, metadata.answer_bytes), (7, 8));
        assert_eq!(metadata.text(metadata.output).text, "");
    }

    #[test]
    fn errors_are_kept_where_results_no_longer_are() {
        let mut log = LoggedCalls::new(OutcomeDetail::Brief, RecordDetail::Metadata);
        let failure = || ToolError::failed(&CallableName::new("mcp__s__t"), "no ".repeat(2_000));
        let written = failure().to_string().len();
        for _ in 0..200 {
            noted(&mut log, "{}", Ok(ToolValue::Text("y".repeat(10_000))));
        }
        noted(&mut log, "{}", Err(failure()));
        let all = all_kept(&log);
        assert_eq!(all[199], [(2, 2), (0, 10_000)]);
        assert_eq!(all[200], [(2, 2), (MIN_ERROR_BYTES, written)]);
        // Of arguments that are not kept whole, the hash is there.
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_ARGUMENT_BYTES));
        noted(&mut log, &long, Ok(ToolValue::Nothing));
        assert!(log.calls[0].hash.is_none() && log.calls[201].hash.is_some());
    }
}
