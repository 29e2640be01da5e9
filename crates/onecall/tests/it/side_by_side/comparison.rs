//! What of an answer is compared, and what follows from the comparison.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::programs::Program;

const SUCCESS: &str = "[Script executed successfully]\n";
const FAILURE: &str = "[Script execution failed]\n";

/// Lines that frames of the program follow, and then the exception.
const BEFORE_THE_EXCEPTION: [&str; 2] = ["Traceback ", "[Nothing was executed]"];

/// The words of a syntax error are the parser's own: only its type is compared.
const SYNTAX_ERRORS: [&str; 3] = ["SyntaxError", "IndentationError", "TabError"];

/// What onecall answered to one program, by engine.
pub type Answers = BTreeMap<&'static str, Value>;

/// The part of an answer that is compared: the output, or the exception's type and message.
pub fn compared(text: &str) -> Value {
    if let Some(output) = text.strip_prefix(SUCCESS) {
        return json!({ "output": output });
    }
    let failure = text.strip_prefix(FAILURE).unwrap_or(text);
    let mut lines: Vec<&str> = failure.trim_end_matches('\n').split('\n').collect();
    let is_heading = |line: &&str| BEFORE_THE_EXCEPTION.iter().any(|start| line.starts_with(start));
    if let Some(last) = lines.iter().rposition(is_heading) {
        lines.drain(..=last);
    }
    let is_frame = |line: &&&str| line.starts_with("  ");
    let frames = lines.iter().take_while(is_frame).count().min(lines.len().saturating_sub(1));
    // Output, calls and remarks follow under lines in brackets.
    let is_message = |line: &&&str| !(line.starts_with('[') && line.ends_with(']'));
    let lines: Vec<&str> = lines.iter().skip(frames).take_while(is_message).copied().collect();
    let kind = lines.first().and_then(|line| line.split(':').next()).unwrap_or_default();
    match SYNTAX_ERRORS.contains(&kind) {
        true => json!({ "error": kind }),
        false => json!({ "error": lines.join("\n") }),
    }
}

/// What is wrong with the answers to a program, if anything is. `stored` has the reference's
/// answer and, where the program says why that is better, onecall's.
pub fn complaint(program: &Program, stored: &Value, answers: &Answers) -> Option<String> {
    let reference = &stored["reference"];
    if reference.is_null() {
        return Some("the reference's answer is not stored".to_owned());
    }
    let differing: Vec<_> = answers.iter().filter(|(_, answer)| *answer != reference).collect();
    if program.better.is_none() {
        let shown = differing.iter().map(|(engine, answer)| format!("\n  {engine}: {answer}"));
        let shown: String = shown.collect();
        return (!differing.is_empty()).then(|| format!("\n  reference: {reference}{shown}"));
    }
    if differing.is_empty() {
        return Some("equals the reference's answer, so that nothing is better".to_owned());
    }
    let is_stored = |(engine, answer): &(&&str, &Value)| {
        let own = &stored["onecall"];
        *answer == own || own.get(**engine) == Some(*answer)
    };
    let wrong = answers.iter().find(|answer| !is_stored(answer))?;
    Some(format!("\n  stored: {}\n  {}: {}", stored["onecall"], wrong.0, wrong.1))
}

/// The answers as they are stored: one if all engines agree, else one for each engine.
pub fn stored(answers: &Answers) -> Value {
    let mut distinct = answers.values().collect::<Vec<_>>();
    distinct.dedup();
    match distinct.as_slice() {
        [one] => (*one).clone(),
        _ => json!(answers),
    }
}
