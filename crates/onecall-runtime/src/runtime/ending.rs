//! The end of a run: what stops it, and its outcome.

use std::time::Instant;

use onecall_core::text::{visible, visible_line};
use onecall_core::{Failure, Outcome, OutcomeDetail, RunLimits};
use serde_json::value::RawValue;

use crate::Observer;
use crate::call_log::CallLog;
use crate::capture::Capture;
use crate::journal::{Journal, stopped};
use crate::seldom::seldom;

/// Bytes that a traceback may take even if the output limit is smaller: without it the program
/// could not be corrected.
const MIN_TRACEBACK_BYTES: usize = 4 * 1024;

/// Characters of a type's name that are shown.
const MAX_TYPE_NAME: usize = 60;

/// The result of a run, or the failure for which it is stopped.
pub(super) async fn until_stopped<T>(
    run: impl Future<Output = Result<T, Failure>>,
    journal: Option<&Journal>,
    observer: &dyn Observer,
) -> Result<T, Failure> {
    let result = tokio::select! {
        biased;
        failure = seldom(stopped(journal)) => Err(failure),
        result = run => result,
        () = seldom(observer.cancelled()) => Err(Failure::Cancelled),
    };
    match journal {
        Some(journal) => journal.checked(result),
        None => result,
    }
}

/// Builds the outcome of a program or plan that has just ended.
pub(super) fn build_outcome(
    result: Result<Option<String>, Failure>,
    started: Instant,
    capture: Capture<'_>,
    limits: &RunLimits,
    log: &CallLog,
    detail: OutcomeDetail,
) -> Outcome {
    let duration = started.elapsed();
    let longest = limits.max_output_bytes.max(MIN_TRACEBACK_BYTES);
    let result = result.map_err(|failure| shorten(failure, longest));
    let (stdout, stderr, media, remarks) = capture.finish();
    let calls = log.calls_for_outcome(result.is_err());
    let (value, result) = match result {
        Ok(value) => (value, Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    let (value, value_type) = match detail {
        OutcomeDetail::Whole => (value.and_then(|json| RawValue::from_string(json).ok()), None),
        OutcomeDetail::Brief => (None, value.map(|name| shown_type(&name))),
    };
    let timeout = limits.timeout;
    Outcome {
        result,
        stdout,
        stderr,
        media,
        value,
        value_type,
        calls,
        remarks,
        session: None,
        sizes: None,
        duration,
        timeout,
    }
}

/// The name of a type as it is shown; a program chose it.
fn shown_type(name: &str) -> String {
    visible_line(name).chars().take(MAX_TYPE_NAME).collect()
}

/// Escapes invisible characters in a traceback, which may contain text from a server. If it is
/// longer than the limit, its middle is cut out: the beginning says where the program was, the end
/// what happened.
fn shorten(failure: Failure, limit: usize) -> Failure {
    let Failure::Raised { traceback, error } = failure else { return failure };
    let traceback = visible(&traceback).into_owned();
    if traceback.len() <= limit {
        return Failure::Raised { traceback, error };
    }
    let head = traceback.floor_char_boundary(limit / 2);
    let tail = traceback.ceil_char_boundary(traceback.len() - limit / 2);
    let (head, tail) = (traceback.get(..head), traceback.get(tail..));
    let traceback =
        format!("{}\n... (truncated)\n{}", head.unwrap_or_default(), tail.unwrap_or_default());
    Failure::Raised { traceback, error }
}

#[cfg(test)]
mod tests {
    use onecall_core::ErrorSummary;

    use super::*;

    #[test]
    fn a_long_traceback_keeps_its_ends() {
        let raised = |traceback: &str| Failure::Raised {
            traceback: traceback.to_owned(),
            error: ErrorSummary::default(),
        };
        let cases = [
            (raised("ValueError: é"), 14, raised("ValueError: é")),
            (raised("aéiou-uoiéa"), 5, raised("a\n... (truncated)\na")),
            (raised("Traceback long Error"), 8, raised("Trac\n... (truncated)\nrror")),
            (raised("no\u{202e}"), 20, raised("no\\u{202e}")),
        ];
        for (failure, limit, expected) in cases {
            assert_eq!(shorten(failure, limit), expected);
        }
    }
}
