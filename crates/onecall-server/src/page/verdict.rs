//! Reads the answer to a question from its form.

use std::collections::HashSet;
use std::time::Duration;

use onecall_core::{ApprovalQuestion, ApprovalScope, QuestionKind, Timestamp, Verdict};
use serde_json::{Map, Value};
use thiserror::Error;

use super::fields::Fields;

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 1_000;

/// How many arguments have a box in the form, and how long their names are, in bytes. Others must stay the same in
/// later calls.
const MAX_BOXES: usize = 100;
const MAX_BOX_NAME: usize = 200;

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
    #[error(
        "the arguments have no '{0}' any more, which is to be the same in later calls: untick it, or add \
         it again"
    )]
    NoSuchArgument(String),
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
        (QuestionKind::Approve, "tool") => approve_later(form, question, shown, until(form, now)?),
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
    Ok(Verdict::Approve { scope, arguments: edited(form, question, shown)?.map(Value::Object) })
}

/// An approval of this call and of later ones.
fn approve_later(
    form: &Fields,
    question: &ApprovalQuestion,
    shown: &str,
    until: Timestamp,
) -> Result<Verdict, UnfitForm> {
    let original: Map<String, Value> =
        serde_json::from_str(&question.arguments).unwrap_or_default();
    let edited = edited(form, question, shown)?;
    let constraints = constraints(form, &original, edited.as_ref().unwrap_or(&original))?;
    let scope = ApprovalScope::Tool { constraints, until: until.0 };
    Ok(Verdict::Approve { scope, arguments: edited.map(Value::Object) })
}

/// The arguments of the form, if they were edited.
fn edited(
    form: &Fields,
    question: &ApprovalQuestion,
    shown: &str,
) -> Result<Option<Map<String, Value>>, UnfitForm> {
    // Without the field, the page has shown arguments that it cannot edit. An empty field is no arguments.
    let Some(written) = form.raw("arguments") else { return Ok(None) };
    let value: Value =
        serde_json::from_str(written).map_err(|error| UnfitForm::NotJson(error.to_string()))?;
    let same = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|it| it == value);
    if same(shown) || same(&question.arguments) {
        return Ok(None);
    }
    if !same_value(shown, &question.arguments) {
        return Err(UnfitForm::HiddenSecrets);
    }
    match value {
        Value::Object(arguments) => Ok(Some(arguments)),
        _ => Err(UnfitForm::NotAnObject),
    }
}

fn same_value(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(one).is_some() && value(one) == value(other)
}

/// The arguments that have a box in the form: a ticked one stays the same in later calls.
pub(super) fn boxes(arguments: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = arguments.keys().map(String::as_str);
    names.filter(|name| name.len() <= MAX_BOX_NAME).take(MAX_BOXES)
}

/// The values that later calls must have, too: those that are approved, without the arguments whose box is not
/// ticked. An argument without a box stays the same: the person has added it, or there are very many.
fn constraints(
    form: &Fields,
    original: &Map<String, Value>,
    approved: &Map<String, Value>,
) -> Result<Map<String, Value>, UnfitForm> {
    let boxes: HashSet<&str> = boxes(original).collect();
    let ticked: HashSet<&str> = form.all("same").filter(|name| boxes.contains(name)).collect();
    // Without this, the approval would cover more than the ticked boxes say.
    let missing = original.keys().find(|name| {
        let is_kept = ticked.contains(name.as_str()) || !boxes.contains(name.as_str());
        is_kept && !approved.contains_key(*name)
    });
    if let Some(name) = missing {
        return Err(UnfitForm::NoSuchArgument(name.clone()));
    }
    let is_kept = |name: &str| ticked.contains(name) || !boxes.contains(name);
    let kept = approved.iter().filter(|(name, _)| is_kept(name));
    Ok(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn until(form: &Fields, now: Timestamp) -> Result<Timestamp, UnfitForm> {
    let chosen = form.get("length").ok_or(UnfitForm::NoLength)?;
    let length = LENGTHS.iter().find(|(name, _, _)| *name == chosen).ok_or(UnfitForm::NoLength)?;
    Ok(now.after(Duration::from_secs(length.2)))
}

/// What was decided, in the past tense: `approved with other arguments`.
pub(super) fn in_past_tense(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approve { scope, arguments } => {
            let other = if arguments.is_some() { " with other arguments" } else { "" };
            let reach = match scope {
                ApprovalScope::Once => "",
                ApprovalScope::Run => " for its run",
                ApprovalScope::Tool { .. } => ", with later calls,",
            };
            format!("approved{other}{reach}")
        }
        Verdict::Deny { reason: Some(reason) } => format!("denied ({reason})"),
        Verdict::Deny { reason: None } => "denied".to_owned(),
        Verdict::Happened { .. } => "said to have happened".to_owned(),
        Verdict::NotHappened => "said not to have happened".to_owned(),
        Verdict::GiveUp => "given up".to_owned(),
    }
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

    fn later(form: &str) -> Result<(Value, Option<Value>), UnfitForm> {
        match read_form(&format!("decision=tool&length=1h&{form}"), QuestionKind::Approve)? {
            Verdict::Approve { scope: ApprovalScope::Tool { constraints, .. }, arguments } => {
                Ok((Value::Object(constraints), arguments))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn later_calls_are_like_the_call_that_was_approved() {
        let edited = "arguments=%7B%22id%22%3A8%2C%22folder%22%3A%22sent%22%7D";
        let arguments = json!({"id": 8, "folder": "sent"});
        assert_eq!(
            later(&format!("{edited}&same=folder")),
            Ok((json!({"folder": "sent"}), Some(arguments.clone())))
        );
        assert_eq!(later(edited), Ok((json!({}), Some(arguments))));
        // An argument that was added has no box, and one that was removed cannot stay the same.
        let added = "arguments=%7B%22id%22%3A7%2C%22all%22%3Atrue%7D";
        let arguments = json!({"id": 7, "all": true});
        assert_eq!(later(&format!("{added}&same=id")), Ok((arguments.clone(), Some(arguments))));
        assert_eq!(
            later(&format!("{added}&same=id&same=folder")),
            Err(UnfitForm::NoSuchArgument("folder".to_owned()))
        );
    }

    #[test]
    fn arguments_without_a_box_stay_the_same() {
        let names = (0..MAX_BOXES + 2).map(|index| (format!("a{index:04}"), json!(index)));
        let arguments: Map<String, Value> = names.collect();
        let kept = constraints(&Fields::parse(b"same=a0003"), &arguments, &arguments).unwrap();
        let names: Vec<&String> = kept.keys().collect();
        assert_eq!(names, ["a0003", "a0100", "a0101"]);
    }

    #[test]
    fn what_does_not_fit_decides_nothing() {
        let rows = [
            ("", QuestionKind::Approve, UnfitForm::NoDecision),
            ("decision=once", QuestionKind::Unknown, UnfitForm::NoDecision),
            ("decision=once&arguments=[1]", QuestionKind::Approve, UnfitForm::NotAnObject),
            ("decision=tool&length=9y", QuestionKind::Approve, UnfitForm::NoLength),
        ];
        for decision in ["once", "run", "tool&length=1h"] {
            for emptied in ["", "+", "%0D%0A"] {
                let form = format!("decision={decision}&arguments={emptied}");
                let read = read_form(&form, QuestionKind::Approve);
                assert!(matches!(read, Err(UnfitForm::NotJson(_))), "{form}: {read:?}");
            }
        }
        for (form, kind, expected) in rows {
            assert_eq!(read_form(form, kind), Err(expected), "{form}");
        }
        let form = Fields::parse(b"decision=once&arguments=%7B%22id%22%3A8%7D");
        let hidden =
            read(&form, &question(QuestionKind::Approve), r#"{"id": "[redacted]"}"#, Timestamp(0));
        assert_eq!(hidden, Err(UnfitForm::HiddenSecrets));
    }
}
