//! Reads the answer to a question from its form.

use std::time::Duration;

use onecall_core::{ApprovalQuestion, ApprovalScope, QuestionKind, Timestamp, Verdict};
use serde_json::{Map, Value};
use thiserror::Error;

use super::fields::Fields;

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 1_000;

/// How long an approval of later calls may last.
pub(super) const LENGTHS: [(&str, &str, u64); 4] = [
    ("1h", "1 hour", 3_600),
    ("1d", "1 day", 86_400),
    ("7d", "7 days", 604_800),
    ("30d", "30 days", 2_592_000),
];

/// Why a form is not an answer. Nothing was decided.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UnfitForm {
    #[error("choose what to decide")]
    NoDecision,
    #[error("the arguments are not JSON: {0}")]
    NotJson(String),
    #[error("the arguments are not a JSON object, such as {{\"id\": 7}}")]
    NotAnObject,
    #[error("the result is not JSON: {0}. Write a text in quotes")]
    ResultNotJson(String),
    #[error("choose how long later calls are approved")]
    NoLength,
    #[error("the arguments contain secrets that are not shown here, so they cannot be edited")]
    HiddenSecrets,
}

/// The verdict that a form stands for. `shown` is what the form showed as the arguments.
pub(super) fn read(
    form: &Fields,
    question: &ApprovalQuestion,
    shown: &str,
    now: Timestamp,
) -> Result<Verdict, UnfitForm> {
    match (question.kind, form.get("decision").unwrap_or_default()) {
        (QuestionKind::Approve, "once") => approve(form, question, shown, ApprovalScope::Once),
        (QuestionKind::Approve, "run") => approve(form, question, shown, ApprovalScope::Run),
        (QuestionKind::Approve, "tool") => {
            let scope = ApprovalScope::Tool {
                constraints: constraints(form, question),
                until: until(form, now)?.0,
            };
            approve(form, question, shown, scope)
        }
        (QuestionKind::Approve, "deny") => {
            let reason = form.get("reason").map(|reason| reason.chars().take(MAX_REASON).collect());
            Ok(Verdict::Deny { reason })
        }
        (QuestionKind::Unknown, "happened") => {
            let result = serde_json::from_str(form.get("result").unwrap_or("null"));
            let result = result.map_err(|error| UnfitForm::ResultNotJson(error.to_string()))?;
            Ok(Verdict::Happened { result })
        }
        (QuestionKind::Unknown, "not_happened") => Ok(Verdict::NotHappened),
        (QuestionKind::Unknown, "give_up") => Ok(Verdict::GiveUp),
        _ => Err(UnfitForm::NoDecision),
    }
}

/// An approval, with the arguments of the form if they were edited.
fn approve(
    form: &Fields,
    question: &ApprovalQuestion,
    shown: &str,
    scope: ApprovalScope,
) -> Result<Verdict, UnfitForm> {
    let Some(written) = form.get("arguments") else {
        return Ok(Verdict::Approve { scope, arguments: None });
    };
    let value: Value =
        serde_json::from_str(written).map_err(|error| UnfitForm::NotJson(error.to_string()))?;
    let same = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|it| it == value);
    if same(shown) || same(&question.arguments) {
        return Ok(Verdict::Approve { scope, arguments: None });
    }
    if !same_value(shown, &question.arguments) {
        return Err(UnfitForm::HiddenSecrets);
    }
    if !value.is_object() {
        return Err(UnfitForm::NotAnObject);
    }
    Ok(Verdict::Approve { scope, arguments: Some(value) })
}

fn same_value(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(one).is_some() && value(one) == value(other)
}

/// The arguments that later calls must have, too: those that are ticked, with the values of this call.
fn constraints(form: &Fields, question: &ApprovalQuestion) -> Map<String, Value> {
    let arguments: Map<String, Value> =
        serde_json::from_str(&question.arguments).unwrap_or_default();
    let is_chosen = |name: &String| form.all("same").any(|chosen| chosen == name);
    arguments.into_iter().filter(|(name, _)| is_chosen(name)).collect()
}

fn until(form: &Fields, now: Timestamp) -> Result<Timestamp, UnfitForm> {
    let chosen = form.get("length").ok_or(UnfitForm::NoLength)?;
    let length = LENGTHS.iter().find(|(name, _, _)| *name == chosen).ok_or(UnfitForm::NoLength)?;
    Ok(now.after(Duration::from_secs(length.2)))
}

#[cfg(test)]
mod tests {
    use onecall_core::{ApprovalWay, CallableName, ItemId, RunId};
    use serde_json::json;

    use super::*;

    const ARGUMENTS: &str = r#"{"id": 7, "folder": "drafts"}"#;

    fn question(kind: QuestionKind) -> ApprovalQuestion {
        let run = RunId::from_existing("r1");
        ApprovalQuestion {
            item: ItemId::of(&run, 1),
            run,
            call: 1,
            kind,
            name: CallableName::new("mcp__a__b"),
            line: Some(1),
            arguments: ARGUMENTS.to_owned(),
            rule: "rule".to_owned(),
            asked: Timestamp(0),
            expires: Timestamp(1),
            ways: vec![ApprovalWay::Page],
        }
    }

    fn read_form(form: &str, kind: QuestionKind) -> Result<Verdict, UnfitForm> {
        read(&Fields::parse(form.as_bytes()), &question(kind), ARGUMENTS, Timestamp(5))
    }

    #[test]
    fn a_form_is_a_verdict() {
        let once = Verdict::Approve { scope: ApprovalScope::Once, arguments: None };
        let same = "decision=once&arguments=%7B%22folder%22%3A%22drafts%22%2C%22id%22%3A7%7D";
        assert_eq!(read_form(same, QuestionKind::Approve), Ok(once));
        let edited =
            Verdict::Approve { scope: ApprovalScope::Run, arguments: Some(json!({"id": 8})) };
        let form = "decision=run&arguments=%7B%22id%22%3A8%7D";
        assert_eq!(read_form(form, QuestionKind::Approve), Ok(edited));
        let (constraints, until) = (Map::from_iter([("id".to_owned(), json!(7))]), 3_600_005);
        let scope = ApprovalScope::Tool { constraints, until };
        let expected = Ok(Verdict::Approve { scope, arguments: None });
        assert_eq!(
            read_form("decision=tool&length=1h&same=id&same=x", QuestionKind::Approve),
            expected
        );
        let denied = Verdict::Deny { reason: Some("no".to_owned()) };
        assert_eq!(read_form("decision=deny&reason=+no+", QuestionKind::Approve), Ok(denied));
        let happened = Verdict::Happened { result: json!([1]) };
        assert_eq!(read_form("decision=happened&result=[1]", QuestionKind::Unknown), Ok(happened));
    }

    #[test]
    fn what_does_not_fit_decides_nothing() {
        let rows = [
            ("", QuestionKind::Approve, UnfitForm::NoDecision),
            ("decision=once", QuestionKind::Unknown, UnfitForm::NoDecision),
            ("decision=once&arguments=[1]", QuestionKind::Approve, UnfitForm::NotAnObject),
            ("decision=tool&length=9y", QuestionKind::Approve, UnfitForm::NoLength),
        ];
        for (form, kind, expected) in rows {
            assert_eq!(read_form(form, kind), Err(expected), "{form}");
        }
        let form = Fields::parse(b"decision=once&arguments=%7B%22id%22%3A8%7D");
        let hidden =
            read(&form, &question(QuestionKind::Approve), r#"{"id": "[redacted]"}"#, Timestamp(0));
        assert_eq!(hidden, Err(UnfitForm::HiddenSecrets));
    }
}
