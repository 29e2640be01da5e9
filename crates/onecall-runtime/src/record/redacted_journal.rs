//! Removes secrets from the journal that a record gets.

use onecall_core::storage::{RecordedJournal, ReplayData, ReplayObstacle};
use onecall_core::{CallSite, CallableName, JournalCall, JournalEvent, ToolError, ToolValue};
use serde_json::value::RawValue;

use super::redactor::Redactor;

/// Removes secrets from what a record has for a replay. `code` is the program as it ran, and `program`
/// is its text in the record.
pub(super) fn redact_replay(
    replay: ReplayData,
    redactor: &Redactor,
    code: &str,
    program: &str,
) -> ReplayData {
    let ReplayData::Journal(journal) = replay else { return replay };
    let shift = match () {
        () if code == program => ProgramShift::None,
        // A program without secrets changes only if it is cut.
        () if redactor.redact(code.to_owned()) != program => {
            return ReplayData::Impossible(ReplayObstacle::ProgramLength);
        }
        () if code.lines().count() == program.lines().count() => ProgramShift::Columns,
        () => ProgramShift::Lines,
    };
    let RecordedJournal { seed, events } = journal;
    let events: Option<Vec<_>> =
        events.into_iter().map(|event| redact_event(event, redactor, shift)).collect();
    match events {
        Some(events) => ReplayData::Journal(RecordedJournal { seed, events }),
        None => ReplayData::Impossible(ReplayObstacle::Secret),
    }
}

/// What the removal of secrets from a program has moved.
#[derive(Clone, Copy, Debug)]
enum ProgramShift {
    None,
    /// Code may be in another column than it was.
    Columns,
    /// Code may be in another line than it was.
    Lines,
}

impl ProgramShift {
    /// The place of a call, without what is not known any more.
    fn apply(self, site: CallSite) -> CallSite {
        match self {
            Self::None => site,
            Self::Columns => CallSite { column: 0, ..site },
            Self::Lines => CallSite { line: 0, column: 0, ..site },
        }
    }
}

/// An event without secrets; `None` if they cannot be removed.
fn redact_event(
    event: JournalEvent,
    redactor: &Redactor,
    shift: ProgramShift,
) -> Option<JournalEvent> {
    Some(match event {
        JournalEvent::Called(call) => JournalEvent::Called(JournalCall {
            name: redact_name(call.name, redactor),
            arguments: redact_json_text(call.arguments, redactor)?,
            site: call.site.map(|site| shift.apply(site)),
            ..call
        }),
        JournalEvent::Ended { call, result } => {
            let result = match result {
                Ok(value) => Ok(redact_value(value, redactor)?),
                Err(error) => Err(redact_error(&error, redactor)?),
            };
            JournalEvent::Ended { call, result }
        }
        // Only the worker knows the format of observations, so nothing in them can be replaced. Names
        // are the only texts in them.
        JournalEvent::Observed { bytes } => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if redactor.redact(text.clone()) != text {
                return None;
            }
            JournalEvent::Observed { bytes }
        }
        event @ (JournalEvent::Engine(_)
        | JournalEvent::Sent { .. }
        | JournalEvent::Cancelled { .. }) => event,
    })
}

fn redact_name(name: CallableName, redactor: &Redactor) -> CallableName {
    let redacted = redactor.redact(name.to_string());
    if redacted == name.as_str() { name } else { CallableName::new(redacted) }
}

fn redact_value(value: ToolValue, redactor: &Redactor) -> Option<ToolValue> {
    Some(match value {
        ToolValue::Nothing => ToolValue::Nothing,
        ToolValue::Json(json) => ToolValue::Json(redact_json(json, redactor)?),
        ToolValue::Text(text) => ToolValue::Text(redactor.redact(text)),
        ToolValue::WithContent { value, content } => ToolValue::WithContent {
            value: Box::new(redact_value(*value, redactor)?),
            content: redact_json(content, redactor)?,
        },
    })
}

fn redact_json(json: Box<RawValue>, redactor: &Redactor) -> Option<Box<RawValue>> {
    let text = redact_json_text(Box::<str>::from(json).into_string(), redactor)?;
    RawValue::from_string(text).ok()
}

/// JSON without secrets; `None` if they cannot be removed. A number that is a secret becomes a string.
fn redact_json_text(text: String, redactor: &Redactor) -> Option<String> {
    let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
    let redacted = redactor.redact(text.clone());
    if redacted == text || is_json(&redacted) {
        return Some(redacted);
    }
    let quoted = format!("\"{}\"", Redactor::REPLACEMENT);
    let mut redacted = String::with_capacity(text.len());
    for (part, is_string) in strings_and_others(&text) {
        let part = redactor.redact(part.to_owned());
        match is_string {
            true => redacted.push_str(&part),
            false => redacted.push_str(&part.replace(Redactor::REPLACEMENT, &quoted)),
        }
    }
    // A secret may have been in several parts.
    let is_clean = redactor.redact(redacted.clone()) == redacted;
    (is_clean && is_json(&redacted)).then_some(redacted)
}

/// The parts of a JSON text: strings with their quotation marks, and what is between them.
fn strings_and_others(text: &str) -> Vec<(&str, bool)> {
    let (mut parts, mut start, mut is_string, mut is_escaped) = (Vec::new(), 0, false, false);
    for (position, byte) in text.bytes().enumerate() {
        match (is_string, byte) {
            (true, b'\\') if !is_escaped => {
                is_escaped = true;
                continue;
            }
            (true, b'"') if !is_escaped => {
                parts.push((text.get(start..=position).unwrap_or_default(), true));
                (start, is_string) = (position + 1, false);
            }
            (false, b'"') => {
                parts.push((text.get(start..position).unwrap_or_default(), false));
                (start, is_string) = (position, true);
            }
            _ => {}
        }
        is_escaped = false;
    }
    parts.push((text.get(start..).unwrap_or_default(), is_string));
    parts
}

fn redact_error(error: &ToolError, redactor: &Redactor) -> Option<ToolError> {
    let text = serde_json::to_string(error).ok()?;
    let redacted = redactor.redact(text);
    serde_json::from_str(&redacted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(["swordfish-1", "8080", "{\"key\": 7}"])
    }

    #[test]
    fn json_stays_json() {
        let cases = [
            (r#"{"a":"swordfish-1"}"#, Some(r#"{"a":"[redacted]"}"#)),
            (
                r#"{"port":8080,"url":"http://x:8080/"}"#,
                Some(r#"{"port":"[redacted]","url":"http://x:[redacted]/"}"#),
            ),
            (r#"["\"8080\"",8080]"#, Some(r#"["\"[redacted]\"","[redacted]"]"#)),
            (r#"[80800,"a"]"#, Some(r#"[80800,"a"]"#)),
            // This secret has parts inside of strings and outside.
            (r#"[{"key": 7}]"#, None),
        ];
        for (text, expected) in cases {
            assert_eq!(redact_json_text(text.to_owned(), &redactor()).as_deref(), expected);
        }
    }

    fn called(line: u32, column: u32, arguments: &str) -> JournalEvent {
        JournalEvent::Called(JournalCall {
            id: 1,
            name: CallableName::new("mcp__a__b"),
            site: Some(CallSite { task: "0".to_owned(), line, column }),
            arguments: arguments.to_owned(),
            definition: None,
        })
    }

    fn redacted(code: &str, events: &[JournalEvent]) -> Result<Vec<JournalEvent>, ReplayObstacle> {
        let journal = RecordedJournal { seed: [1; 32], events: events.to_vec() };
        let program = redactor().redact(code.to_owned());
        match redact_replay(ReplayData::Journal(journal), &redactor(), code, &program) {
            ReplayData::Journal(journal) => Ok(journal.events),
            ReplayData::Impossible(obstacle) => Err(obstacle),
            ReplayData::None => unreachable!("there was a journal"),
        }
    }

    #[test]
    fn every_part_of_an_event_is_cleaned() {
        let name = CallableName::new("mcp__a__b");
        let text = |text: &str| ToolValue::Text(text.to_owned());
        let ended = |result| JournalEvent::Ended { call: 1, result };
        let with = |value, json: &str| ToolValue::WithContent {
            value: Box::new(value),
            content: RawValue::from_string(json.to_owned()).unwrap(),
        };
        let events = [
            called(1, 9, r#"{"key":"swordfish-1"}"#),
            ended(Ok(text("a swordfish-1"))),
            ended(Ok(with(text("swordfish-1"), r#"["swordfish-1"]"#))),
            ended(Err(ToolError::failed(&name, "no swordfish-1"))),
            JournalEvent::Observed { bytes: b"\x01fine".to_vec() },
        ];
        let expected = vec![
            called(1, 9, r#"{"key":"[redacted]"}"#),
            ended(Ok(text("a [redacted]"))),
            ended(Ok(with(text("[redacted]"), r#"["[redacted]"]"#))),
            ended(Err(ToolError::failed(&name, "no [redacted]"))),
            JournalEvent::Observed { bytes: b"\x01fine".to_vec() },
        ];
        assert_eq!(redacted("print(1)", &events), Ok(expected));
        let observed = JournalEvent::Observed { bytes: b"\x05\xffswordfish-1".to_vec() };
        assert_eq!(redacted("print(1)", &[observed]), Err(ReplayObstacle::Secret));
    }

    #[test]
    fn a_place_that_moves_is_not_known_any_more() {
        let events = [called(2, 9, "{}")];
        for (code, expected) in
            [("a = 1\nb()", called(2, 9, "{}")), ("a = 'swordfish-1'\nb()", called(2, 0, "{}"))]
        {
            assert_eq!(redacted(code, &events), Ok(vec![expected]), "{code}");
        }
        let journal = RecordedJournal { seed: [1; 32], events: events.to_vec() };
        let secret = Redactor::new(["first line\nsecond line"]);
        let code = "a = '''first line\nsecond line'''\nb()";
        let program = secret.redact(code.to_owned());
        let redacted = |program: &str| {
            redact_replay(ReplayData::Journal(journal.clone()), &secret, code, program)
        };
        let moved = RecordedJournal { seed: [1; 32], events: vec![called(0, 0, "{}")] };
        assert_eq!(redacted(&program), ReplayData::Journal(moved));
        let cut = ReplayData::Impossible(ReplayObstacle::ProgramLength);
        assert_eq!(redacted("a ="), cut);
    }
}
