//! Formats an outcome as the text that `execute_program` answers with. Its form is a contract.

use onecall_core::{CallRecord, CallSummary, Outcome, Output, TextSizes, TokenUsage};

/// Marks output that was cut.
pub(crate) const TRUNCATION_MARK: &str = "\n... (truncated)";

/// Follows "(no output)" if a program ends with an expression that has a value.
const ONLY_PRINTED: &str =
    "Only what is printed comes back; the last expression has a value of type ";

/// How many calls are named at the beginning and at the end of a long list.
const LISTED_AT_EACH_END: usize = 10;

/// The answer for the client that requested the program.
#[must_use]
pub fn report(outcome: &Outcome) -> String {
    let mut text = match &outcome.result {
        Ok(()) => success(outcome),
        Err(failure) => format!("[Script execution failed]\n{failure}"),
    };
    if outcome.result.is_err() {
        if !outcome.stdout.text.is_empty() {
            push_line(&mut text, "[Output before the failure]\n");
            push_output(&mut text, &outcome.stdout);
        }
        push_effects(&mut text, &outcome.calls);
    }
    for remark in &outcome.remarks {
        push_line(&mut text, &format!("[{remark}]"));
    }
    if outcome.result.is_err() && outcome.calls.completed > 0 {
        push_line(&mut text, &format!("[Tool calls completed: {}]", outcome.calls.completed));
    }
    if let Some(sizes) = outcome.sizes {
        push_line(&mut text, &savings(sizes));
    }
    text
}

/// One line about the tokens that a run saved. They are estimated from sizes, and the line says so.
fn savings(sizes: TextSizes) -> String {
    let TokenUsage { direct, onecall, .. } = sizes.tokens();
    let share = match direct.saturating_sub(onecall).saturating_mul(100).checked_div(direct) {
        Some(share) if share > 0 => format!(", {share}% fewer"),
        _ => String::new(),
    };
    format!("[Tokens: ~{onecall} instead of ~{direct} with direct calls{share}]")
}

fn success(outcome: &Outcome) -> String {
    let mut text = "[Script executed successfully]\n".to_owned();
    match outcome.stdout == Output::default() && outcome.media.is_empty() {
        true => {
            text.push_str("(no output)");
            if let Some(name) = &outcome.value_type {
                push_line(&mut text, &format!("{ONLY_PRINTED}{name}."));
            }
        }
        false => push_output(&mut text, &outcome.stdout),
    }
    text
}

fn push_output(text: &mut String, output: &Output) {
    text.push_str(&output.text);
    if output.truncated {
        text.push_str(TRUNCATION_MARK);
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Lists the calls that may have changed something, so that the agent does not repeat them.
fn push_effects(text: &mut String, calls: &CallSummary) {
    let reached = |call: &&CallRecord| call.end.as_ref().is_none_or(|end| end.sent);
    let effects: Vec<_> =
        calls.records.iter().filter(reached).filter(|it| !it.is_read_only).collect();
    if effects.is_empty() {
        return;
    }
    push_line(text, "[Tool calls that may have had effects]");
    let mut lines = Vec::<(String, usize)>::new();
    for line in effects.into_iter().map(describe_call) {
        match lines.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            _ => lines.push((line, 1)),
        }
    }
    let hidden = lines.len().saturating_sub(2 * LISTED_AT_EACH_END);
    for (position, (line, times)) in lines.iter().enumerate() {
        if position < LISTED_AT_EACH_END || position >= LISTED_AT_EACH_END + hidden {
            push_line(text, line);
            if *times > 1 {
                text.push_str(&format!(", {times} times"));
            }
        } else if position == LISTED_AT_EACH_END {
            push_line(text, &format!("... and {hidden} more"));
        }
    }
    if calls.unrecorded > 0 {
        push_line(text, &format!("... and {} after these", calls.unrecorded));
    }
}

fn describe_call(call: &CallRecord) -> String {
    let cut = if call.has_all_arguments { "" } else { "…" };
    let end = match &call.end {
        None => ": cut off",
        Some(end) if end.has_failed() => ": failed",
        Some(_) => "",
    };
    format!("{}({}{cut}){end}", call.name, call.arguments)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onecall_core::{CallEnd, CallableName, ErrorSummary, Failure, RecordedResult};

    use super::*;

    fn outcome(result: Result<(), Failure>, stdout: &str, completed: u64) -> Outcome {
        let failure = Failure::TimedOut { limit: Duration::ZERO };
        Outcome {
            result,
            stdout: Output { text: stdout.to_owned(), truncated: false },
            calls: CallSummary { completed, ..CallSummary::default() },
            ..Outcome::not_started(failure, Duration::ZERO)
        }
    }

    fn raised() -> Result<(), Failure> {
        let error = ErrorSummary::default();
        Err(Failure::Raised { traceback: "ValueError: no".to_owned(), error })
    }

    fn call(number: u64, is_read_only: bool, answer: Option<RecordedResult>) -> CallRecord {
        CallRecord {
            id: number,
            name: CallableName::new("mcp__crm__add"),
            arguments: format!(r#"{{"n":{number}}}"#),
            has_all_arguments: true,
            is_read_only,
            started: Duration::ZERO,
            cached: false,
            end: answer.map(|answer| CallEnd {
                duration: Duration::ZERO,
                result: answer,
                sent: true,
            }),
        }
    }

    #[test]
    fn outcomes_read_as_the_contract_says() {
        let timed_out = |seconds| Failure::TimedOut { limit: Duration::from_secs_f64(seconds) };
        let cases = [
            (outcome(Ok(()), "hi\n", 3), "[Script executed successfully]\nhi\n"),
            (outcome(Ok(()), "", 0), "[Script executed successfully]\n(no output)"),
            (outcome(raised(), "", 0), "[Script execution failed]\nValueError: no"),
            (
                outcome(raised(), "a\nb\n", 3),
                "[Script execution failed]\nValueError: no\n[Output before the failure]\na\nb\n\
                 [Tool calls completed: 3]",
            ),
            (
                outcome(Err(timed_out(120.0)), "", 0),
                "[Script execution failed]\nTimeoutError: Execution exceeded 120s limit",
            ),
            (
                outcome(Err(timed_out(0.5)), "x", 1),
                "[Script execution failed]\nTimeoutError: Execution exceeded 0.5s limit\n\
                 [Output before the failure]\nx\n[Tool calls completed: 1]",
            ),
        ];
        for (outcome, expected) in cases {
            assert_eq!(report(&outcome), expected);
        }
    }

    #[test]
    fn what_was_saved_comes_last() {
        let line = |direct, onecall| {
            let sizes = Some(TextSizes { direct, onecall });
            let text = report(&Outcome { sizes, ..outcome(raised(), "", 1) });
            text.lines().last().unwrap_or_default().to_owned()
        };
        let expected = "[Tokens: ~300 instead of ~60000 with direct calls, 99% fewer]";
        assert_eq!(line(240_000, 1_200), expected);
        assert_eq!(line(40, 80), "[Tokens: ~20 instead of ~10 with direct calls]");
        assert_eq!(line(0, 0), "[Tokens: ~0 instead of ~0 with direct calls]");
    }

    #[test]
    fn truncated_output_is_marked() {
        let mut outcome = outcome(Ok(()), "cut", 0);
        outcome.stdout.truncated = true;
        assert_eq!(report(&outcome), "[Script executed successfully]\ncut\n... (truncated)");
    }

    #[test]
    fn a_failure_names_the_calls_that_cannot_be_taken_back() {
        let completed = || Some(RecordedResult::NotKept);
        let mut outcome = outcome(raised(), "", 2);
        let mut long = call(4, false, completed());
        long.has_all_arguments = false;
        let refused = Some(RecordedResult::Failed("no".to_owned()));
        let mut never_sent = call(6, false, refused.clone());
        never_sent.end.as_mut().unwrap().sent = false;
        outcome.calls.records = vec![
            call(1, false, completed()),
            call(2, true, completed()),
            call(3, false, refused),
            long,
            call(5, false, None),
            never_sent,
        ];
        outcome.remarks.push("Session 'a' has ended".to_owned());
        let expected = "[Script execution failed]\nValueError: no\n\
            [Tool calls that may have had effects]\n\
            mcp__crm__add({\"n\":1})\nmcp__crm__add({\"n\":3}): failed\n\
            mcp__crm__add({\"n\":4}…)\nmcp__crm__add({\"n\":5}): cut off\n\
            [Session 'a' has ended]\n[Tool calls completed: 2]";
        assert_eq!(report(&outcome), expected);
    }

    #[test]
    fn a_long_list_of_calls_keeps_its_ends() {
        let mut outcome = outcome(raised(), "", 25);
        outcome.calls.records =
            (0..25).map(|number| call(number, false, Some(RecordedResult::NotKept))).collect();
        outcome.calls.unrecorded = 7;
        let text = report(&outcome);
        let lines: Vec<_> = text.lines().skip(3).collect();
        assert_eq!(lines.len(), 23);
        assert_eq!(
            lines[9..12],
            ["mcp__crm__add({\"n\":9})", "... and 5 more", "mcp__crm__add({\"n\":15})"]
        );
        assert_eq!(lines[21], "... and 7 after these");
    }
}
