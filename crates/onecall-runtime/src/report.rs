//! An outcome in the words of the contract: what `execute_program` answers.

use onecall_core::{Outcome, Output};

/// What follows output that was cut.
pub(crate) const TRUNCATED: &str = "\n... (truncated)";

/// The text that goes back to whoever asked for the program.
#[must_use]
pub fn report(outcome: &Outcome) -> String {
    let Err(failure) = &outcome.result else {
        let mut text = "[Script executed successfully]\n".to_owned();
        match outcome.stdout == Output::default() {
            true => text.push_str("(no output)"),
            false => push_output(&mut text, &outcome.stdout),
        }
        return text;
    };
    let mut text = format!("[Script execution failed]\n{failure}");
    if !outcome.stdout.text.is_empty() {
        begin_line(&mut text);
        text.push_str("[Output before the failure]\n");
        push_output(&mut text, &outcome.stdout);
    }
    if outcome.calls_completed > 0 {
        begin_line(&mut text);
        text.push_str(&format!("[Tool calls completed: {}]", outcome.calls_completed));
    }
    text
}

fn push_output(text: &mut String, output: &Output) {
    text.push_str(&output.text);
    if output.truncated {
        text.push_str(TRUNCATED);
    }
}

fn begin_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onecall_core::Failure;

    use super::*;

    fn outcome(result: Result<(), Failure>, stdout: &str, calls_completed: u64) -> Outcome {
        Outcome {
            result,
            stdout: Output { text: stdout.to_owned(), truncated: false },
            stderr: Output::default(),
            calls_completed,
            duration: Duration::ZERO,
        }
    }

    fn raised() -> Result<(), Failure> {
        Err(Failure::Raised { traceback: "ValueError: no".to_owned() })
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
    fn truncated_output_is_marked() {
        let mut outcome = outcome(Ok(()), "cut", 0);
        outcome.stdout.truncated = true;
        assert_eq!(report(&outcome), "[Script executed successfully]\ncut\n... (truncated)");
    }
}
