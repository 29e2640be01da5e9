//! Builds the record of a run that has ended.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use onecall_core::storage::{
    ReplayData, ReplayObstacle, RunDetail, RunRecord, RunSummary, StoredCall,
};
use onecall_core::{Digest, EngineChoice, Failure, Picture, TextSizes, ToolSpec};
use serde_json::json;

use super::recording::FinishedRun;
use super::redacted_journal::redact_replay;
use super::redactor::Redactor;
use crate::call_log::{Excerpt, LoggedCall, LoggedCalls, RecordDetail};

/// Bytes of a program that are recorded; below it those of an error message and of a name.
const LONGEST_PROGRAM: usize = 1024 * 1024;
const LONGEST_ERROR: usize = 1024;
const LONGEST_NAME: usize = 200;

/// Builds the record of a run, including its text sizes.
pub(super) fn build(
    mut run: FinishedRun,
    record_detail: RecordDetail,
    redactor: &Redactor,
    tools: &HashMap<&str, &Arc<ToolSpec>>,
    sizes: TextSizes,
) -> RunRecord {
    let replay = match std::mem::take(&mut run.replay) {
        ReplayData::Journal(journal) if journal.events.is_empty() && !has_begun(&run.result) => {
            ReplayData::Impossible(ReplayObstacle::NotBegun)
        }
        replay => replay,
    };
    let (run, header) = (&run, &run.header);
    let redact = |text: &str, limit: usize| redact(redactor, text, limit);
    let spec_of = |call: &LoggedCall| {
        let name = call.name.as_str();
        call.tool.clone().or_else(|| tools.get(name).copied().cloned())
    };
    let calls: Vec<StoredCall> = run
        .log
        .calls
        .iter()
        .map(|call| StoredCall {
            name: redact(call.name.as_str(), LONGEST_NAME),
            server: match spec_of(call) {
                Some(spec) => spec.server.to_string(),
                None => server_in(call.name.as_str()),
            },
            ..call_facts(&run.log, call, record_detail, redactor)
        })
        .collect();
    let failed = calls.iter().filter(|call| call.error.is_some()).count();
    let cached = calls.iter().filter(|call| call.cached).count();
    let detail = match record_detail {
        RecordDetail::None | RecordDetail::Metadata => RunDetail::Metadata,
        RecordDetail::Full => RunDetail::Full,
    };
    let error = run.result.as_ref().err().map(|failure| {
        let summary = failure.summary();
        (redact(&summary.kind, LONGEST_NAME), redact(&summary.message, LONGEST_ERROR))
    });
    let summary = RunSummary {
        id: header.id.clone(),
        started: header.started,
        user: header.user.clone(),
        client: redact(&header.client, LONGEST_NAME),
        kind: header.kind.name().to_owned(),
        language: header.language.to_owned(),
        engine: header.engine.map_or("none", EngineChoice::name).to_owned(),
        session: header.session.as_deref().map(|session| redact(session, LONGEST_NAME)),
        program_hash: Digest::of(&header.code).to_string(),
        outcome: outcome_name(&run.result).to_owned(),
        error,
        duration: run.duration,
        output_bytes: to_u64(run.log.output.bytes),
        output_truncated: run.output_truncated,
        call_count: to_u64(calls.len()).saturating_add(run.log.unlogged_calls),
        failed_calls: to_u64(failed),
        cached_calls: to_u64(cached),
        // A single call costs as much with onecall as without, so its sizes say nothing.
        sizes: (!header.kind.is_single_call()).then_some(sizes),
        counted_tokens: None,
        detail,
    };
    let is_full = record_detail == RecordDetail::Full;
    let picture = |data: &Option<String>| {
        let picture = Picture::parse(data.clone()?)?;
        // Pictures can contain texts, and a text inside a picture cannot be replaced.
        let text = String::from_utf8_lossy(&picture.bytes()).into_owned();
        (redactor.redact(text.clone()) == text).then_some(picture)
    };
    let program = redact(&header.code, LONGEST_PROGRAM);
    RunRecord {
        run: summary,
        replay: redact_replay(replay, redactor, &header.code, &program),
        program,
        argv: header.argv.iter().map(|word| redactor.redact(word.clone())).collect(),
        error_line: run.result.as_ref().err().and_then(|failure| failure.summary().line),
        output: is_full.then(|| redactor.redact(run.log.text(run.log.output).text.to_owned())),
        pictures: run.pictures.iter().map(picture).collect(),
        tools: is_full.then(|| definitions(run, &spec_of)),
        calls,
    }
}

fn call_facts(
    log: &LoggedCalls,
    call: &LoggedCall,
    record_detail: RecordDetail,
    redactor: &Redactor,
) -> StoredCall {
    let arguments = log.text(call.arguments);
    let hash = match &call.hash {
        Some(hash) => **hash,
        None => Digest::of(arguments.text),
    };
    let full = |text: Excerpt<'_>| {
        let is_kept = record_detail == RecordDetail::Full && text.is_whole();
        is_kept.then(|| redactor.redact(text.text.to_owned()))
    };
    let (result, error) = match call.end.as_ref().map(|end| end.result) {
        Some(Ok((kind, location))) => (Some((kind, log.text(location))), None),
        Some(Err(location)) => (None, Some(log.text(location))),
        None => (None, None),
    };
    StoredCall {
        name: String::new(),
        server: String::new(),
        arguments_hash: hash.to_string(),
        arguments_bytes: to_u64(arguments.bytes),
        result_bytes: to_u64(result.map_or(0, |(_, text)| text.bytes)),
        started: call.started,
        duration: call.end.as_ref().map(|end| end.duration),
        error: error.map(|error| redact(redactor, error.text, LONGEST_ERROR)),
        denied_by: call.denied_by(),
        cached: call.end.as_ref().is_some_and(|end| end.is_cached),
        arguments: full(arguments),
        result: result.and_then(|(kind, text)| Some((kind.to_owned(), full(text)?))),
        counted_tokens: None,
    }
}

/// The definitions of the tools that were called, so that the recorded arguments can be read later.
fn definitions(
    run: &FinishedRun,
    spec_of: &dyn Fn(&LoggedCall) -> Option<Arc<ToolSpec>>,
) -> String {
    let calls = run.log.calls.iter();
    let called: BTreeMap<&str, Arc<ToolSpec>> =
        calls.filter_map(|call| Some((call.name.as_str(), spec_of(call)?))).collect();
    let definitions = called.values().map(|spec| {
        json!({
            "name": spec.callable.as_str(),
            "server": spec.server.as_str(),
            "tool": spec.tool.as_str(),
            "inputSchema": spec.input_schema,
        })
    });
    serde_json::Value::from_iter(definitions).to_string()
}

fn outcome_name(result: &Result<(), Failure>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(Failure::Raised { .. }) => "raised",
        Err(Failure::Refused { .. }) => "refused",
        Err(Failure::TimedOut { .. }) => "timed_out",
        Err(Failure::Cancelled) => "cancelled",
        Err(Failure::WorkspaceFull { .. }) => "workspace_full",
        Err(Failure::TooManyPrograms { .. }) => "too_many_programs",
        Err(Failure::WorkerDied { .. }) => "worker_died",
        Err(Failure::EngineUnavailable { .. }) => "engine_unavailable",
    }
}

/// Whether a run with this result has begun to execute its program, as far as the result shows.
fn has_begun(result: &Result<(), Failure>) -> bool {
    match result {
        Ok(())
        | Err(
            Failure::Raised { .. }
            | Failure::TimedOut { .. }
            | Failure::Cancelled
            | Failure::WorkerDied { .. },
        ) => true,
        Err(
            Failure::Refused { .. }
            | Failure::WorkspaceFull { .. }
            | Failure::TooManyPrograms { .. }
            | Failure::EngineUnavailable { .. },
        ) => false,
    }
}

/// The server in the name of a tool that does not exist any more.
fn server_in(name: &str) -> String {
    let inside = name.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
    inside.map_or("", |(server, _)| server).to_owned()
}

/// The beginning of a text without secrets. They are removed before the text is cut, because a
/// secret that is cut in two would not be recognised.
fn redact(redactor: &Redactor, text: &str, limit: usize) -> String {
    let mut text = redactor.redact(text.to_owned());
    text.truncate(text.floor_char_boundary(limit));
    text
}

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_at_the_cut_is_taken_out() {
        let redactor = Redactor::new(["swordfish-1"]);
        let text = format!("{}swordfish-1 and more", "x".repeat(15));
        assert_eq!(redact(&redactor, &text, 20), "xxxxxxxxxxxxxxx[reda");
    }
}
