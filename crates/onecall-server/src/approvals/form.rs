//! The form by which a client asks its user about the calls of a run: one decision for each call, a
//! reason if there is only one, and the result of each call that may have happened before a crash.

use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, InPlaceReason, ItemId,
    QuestionKind, RunId, Timestamp, UserName, Verdict,
};
use onecall_gateway::{AskedCall, WaitingRun};
use serde_json::{Map, Value, json};

use super::waiting_text::{item_line, only_in_place};

/// The decisions about a call that needs an approval.
const APPROVE: &str = "approve";
const DENY: &str = "deny";

/// The decisions about a call that may have happened before a crash.
const HAPPENED: &str = "it happened";
const NOT_HAPPENED: &str = "it did not happen: call it now";
const GIVE_UP: &str = "give the run up";

/// The field for the reason of a denial.
const REASON: &str = "reason";

/// How many calls one form asks about. Those that are left are asked about in the next form.
const MAX_ITEMS: usize = 20;

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 1_000;

/// A question for the user of a client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    items: Vec<ApprovalQuestion>,
    /// Why the run can be continued only by the process that holds its worker, if that is so.
    in_place: Option<InPlaceReason>,
}

/// What the user has done with a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormAnswer {
    /// The user has decided about these calls.
    Decided(Vec<(ItemId, Verdict)>),
    /// The user has closed the form without a decision.
    Dismissed,
    /// The answer cannot be understood; nothing is decided.
    Invalid,
}

impl Form {
    /// A form about those calls of a run that the client may decide; `None` if there are none.
    pub(crate) fn about(waiting: &WaitingRun) -> Option<Self> {
        let items = waiting.items.iter().filter(|item| item.allows(ApprovalWay::Client));
        let items: Vec<_> = items.take(MAX_ITEMS).cloned().collect();
        (!items.is_empty()).then_some(Self { items, in_place: waiting.in_place })
    }

    /// The calls that the form asks about.
    pub(crate) fn items(&self) -> &[ApprovalQuestion] {
        &self.items
    }

    /// The run that the form asks about, as a run that waits for these calls.
    pub(crate) fn waiting(&self, run: &RunId) -> WaitingRun {
        WaitingRun { run: run.clone(), items: self.items.clone(), in_place: self.in_place }
    }

    /// The parameters of the request `elicitation/create`.
    pub(crate) fn params(&self) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for item in &self.items {
            let title = match self.items.len() {
                1 => "Decision".to_owned(),
                _ => item_line(item),
            };
            let decisions = match item.kind {
                QuestionKind::Approve => json!([APPROVE, DENY]),
                QuestionKind::Unknown => json!([HAPPENED, NOT_HAPPENED, GIVE_UP]),
            };
            let field = field(item.call);
            required.push(field.clone());
            properties
                .insert(field, json!({ "type": "string", "title": title, "enum": decisions }));
            if item.kind == QuestionKind::Unknown {
                let title = format!("Result of {}, if it happened: JSON or text", item.name);
                properties
                    .insert(result_field(item.call), json!({ "type": "string", "title": title }));
            }
        }
        if matches!(&self.items[..], [item] if item.kind == QuestionKind::Approve) {
            let reason = json!({ "type": "string", "title": "Reason, if you deny it" });
            properties.insert(REASON.to_owned(), reason);
        }
        json!({
            "mode": "form",
            "message": self.message(),
            "requestedSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
            },
        })
    }

    /// What the user reads above the fields.
    fn message(&self) -> String {
        let lines = |kind| {
            let items = self.items.iter().filter(|item| item.kind == kind);
            items.map(item_line).collect::<Vec<_>>()
        };
        let (allowed, happened) = (lines(QuestionKind::Approve), lines(QuestionKind::Unknown));
        let these = |lines: &[String]| if lines.len() == 1 { "this call" } else { "these calls" };
        let mut parts = Vec::new();
        if !allowed.is_empty() {
            let these = these(&allowed);
            parts.push(format!("A program wants to make {these}:\n{}", allowed.join("\n")));
        }
        if !happened.is_empty() {
            let these = these(&happened);
            parts.push(format!("Find out what became of {these}:\n{}", happened.join("\n")));
        }
        parts.extend(self.in_place.map(only_in_place));
        parts.join("\n")
    }

    /// Reads the user's answer.
    pub(crate) fn read(&self, answer: &Value) -> FormAnswer {
        read_answer(self.items.iter().map(AskedCall::from), answer)
    }
}

/// Reads the answer to a form about these calls. Calls without a decision stay open; so do those that may
/// have happened before a crash, if the user declines to answer.
pub(crate) fn read_answer(calls: impl Iterator<Item = AskedCall>, answer: &Value) -> FormAnswer {
    let decided: Vec<_> = match answer.get("action").and_then(Value::as_str) {
        Some("decline") => calls
            .filter(|asked| asked.kind == QuestionKind::Approve)
            .map(|asked| (asked.item, Verdict::Deny { reason: reason(answer) }))
            .collect(),
        Some("accept") => {
            let decision = |asked: AskedCall| Some((verdict(&asked, answer)?, asked.item));
            calls.filter_map(decision).map(|(verdict, item)| (item, verdict)).collect()
        }
        Some("cancel") => return FormAnswer::Dismissed,
        _ => return FormAnswer::Invalid,
    };
    if decided.is_empty() { FormAnswer::Invalid } else { FormAnswer::Decided(decided) }
}

/// The decision about one call, if there is one.
fn verdict(asked: &AskedCall, answer: &Value) -> Option<Verdict> {
    let content = answer.get("content")?;
    let decision = content.get(field(asked.call))?.as_str()?;
    match (asked.kind, decision) {
        (QuestionKind::Approve, APPROVE) => {
            Some(Verdict::Approve { scope: ApprovalScope::Once, arguments: None })
        }
        (QuestionKind::Approve, DENY) => Some(Verdict::Deny { reason: reason(answer) }),
        (QuestionKind::Unknown, HAPPENED) => {
            let result = content.get(result_field(asked.call)).and_then(Value::as_str);
            Some(Verdict::Happened { result: stated_result(result.unwrap_or_default()) })
        }
        (QuestionKind::Unknown, NOT_HAPPENED) => Some(Verdict::NotHappened),
        (QuestionKind::Unknown, GIVE_UP) => Some(Verdict::GiveUp),
        _ => None,
    }
}

/// The reason of a denial, if the user gave one.
fn reason(answer: &Value) -> Option<String> {
    let reason = answer.pointer("/content/reason").and_then(Value::as_str);
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    reason.map(|reason| reason.chars().take(MAX_REASON).collect())
}

/// The result that the user states: JSON, or else the text itself; `null` if the field is empty.
fn stated_result(text: &str) -> Value {
    match text.trim() {
        "" => Value::Null,
        trimmed => serde_json::from_str(trimmed).unwrap_or_else(|_| Value::from(text)),
    }
}

/// A verdict of a client's user.
pub(crate) fn by_client(verdict: Verdict, user: &UserName, client: &str) -> AnsweredVerdict {
    let client = if client.is_empty() { "the client" } else { client };
    let by = match user.is_local() {
        true => client.to_owned(),
        false => format!("{user} ({client})"),
    };
    AnsweredVerdict { verdict, by, way: ApprovalWay::Client, at: Timestamp::now() }
}

/// The name of the field for the decision about a call.
fn field(call: u64) -> String {
    format!("call_{call}")
}

/// The name of the field for the result of a call.
fn result_field(call: u64) -> String {
    format!("result_{call}")
}

#[cfg(test)]
mod tests {
    use onecall_core::CallableName;

    use super::*;

    fn question(call: u64, kind: QuestionKind) -> ApprovalQuestion {
        let run = RunId::from_existing("r");
        let item = match kind {
            QuestionKind::Approve => ItemId::of(&run, call),
            QuestionKind::Unknown => ItemId::of_attempt(&run, call, 1),
        };
        ApprovalQuestion {
            item,
            run,
            call,
            kind,
            name: CallableName::new("mcp__s__delete"),
            line: Some(2),
            arguments: format!("{{\"id\":{call}}}"),
            rule: String::new(),
            asked: Timestamp(0),
            expires: Timestamp(1),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
        }
    }

    /// A form about these calls.
    fn form(items: &[ApprovalQuestion]) -> Form {
        let (run, items) = (RunId::from_existing("r"), items.to_vec());
        Form::about(&WaitingRun { run, items, in_place: None }).unwrap()
    }

    #[test]
    fn each_call_has_its_own_decision() {
        let items = [question(1, QuestionKind::Approve), question(4, QuestionKind::Approve)];
        let form = form(&items);
        let schema = &form.params()["requestedSchema"];
        assert_eq!(schema["required"], json!(["call_1", "call_4"]));
        let run = RunId::from_existing("r");
        let approve = Verdict::Approve { scope: ApprovalScope::Once, arguments: None };
        let deny = Verdict::Deny { reason: None };
        let read = |answer| form.read(&answer);
        assert_eq!(
            read(
                json!({ "action": "accept", "content": { "call_1": "approve", "call_4": "deny" } })
            ),
            FormAnswer::Decided(vec![
                (ItemId::of(&run, 1), approve.clone()),
                (ItemId::of(&run, 4), deny.clone()),
            ])
        );
        assert_eq!(
            read(
                json!({ "action": "accept", "content": { "call_1": "approve", "call_9": "approve" } })
            ),
            FormAnswer::Decided(vec![(ItemId::of(&run, 1), approve)])
        );
        assert_eq!(
            read(json!({ "action": "decline" })),
            FormAnswer::Decided(vec![
                (ItemId::of(&run, 1), deny.clone()),
                (ItemId::of(&run, 4), deny)
            ])
        );
        assert_eq!(read(json!({ "action": "cancel" })), FormAnswer::Dismissed);
        for odd in [
            json!({}),
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": { "call_1": "yes", "call_4": true } }),
            json!({ "action": 5 }),
        ] {
            assert_eq!(read(odd), FormAnswer::Invalid);
        }
    }

    #[test]
    fn a_denial_of_one_call_has_a_reason() {
        let form = form(&[question(1, QuestionKind::Approve)]);
        assert!(form.params()["requestedSchema"]["properties"]["reason"].is_object());
        let answer =
            json!({ "action": "accept", "content": { "call_1": "deny", "reason": " not now " } });
        let denied = Verdict::Deny { reason: Some("not now".to_owned()) };
        assert_eq!(form.read(&answer), FormAnswer::Decided(vec![(ItemId::known("r.1"), denied)]));
    }

    #[test]
    fn the_user_says_whether_a_call_happened() {
        let form = form(&[question(2, QuestionKind::Unknown)]);
        let properties = &form.params()["requestedSchema"]["properties"];
        let names: Vec<_> = properties.as_object().unwrap().keys().collect();
        assert_eq!(names, ["call_2", "result_2"]);
        let read = |decision: &str, result: &str| {
            let content = json!({ "call_2": decision, "result_2": result });
            form.read(&json!({ "action": "accept", "content": content }))
        };
        let decided = |verdict| FormAnswer::Decided(vec![(ItemId::known("r.2.1"), verdict)]);
        let happened = |result| decided(Verdict::Happened { result });
        assert_eq!(read(HAPPENED, r#" {"deleted": 1}"#), happened(json!({ "deleted": 1 })));
        assert_eq!(read(HAPPENED, "it is gone"), happened(json!("it is gone")));
        assert_eq!(read(HAPPENED, ""), happened(Value::Null));
        assert_eq!(read(NOT_HAPPENED, ""), decided(Verdict::NotHappened));
        assert_eq!(read(GIVE_UP, ""), decided(Verdict::GiveUp));
        for other in [APPROVE, DENY, "yes"] {
            assert_eq!(read(other, ""), FormAnswer::Invalid);
        }
        // To decline says nothing about what happened.
        assert_eq!(form.read(&json!({ "action": "decline" })), FormAnswer::Invalid);
    }

    #[test]
    fn both_kinds_of_questions_are_in_one_form() {
        let mut items = [question(1, QuestionKind::Approve), question(2, QuestionKind::Unknown)];
        let run = RunId::from_existing("r");
        let in_place = Some(InPlaceReason::Threads);
        let waiting = WaitingRun { run: run.clone(), items: items.to_vec(), in_place };
        let form = Form::about(&waiting).unwrap();
        assert_eq!(
            form.params()["message"],
            "A program wants to make this call:\n\
             mcp__s__delete, line 2: {\"id\":1}\n\
             Find out what became of this call:\n\
             mcp__s__delete, line 2 (onecall ended during this call: it may have happened or not): \
             {\"id\":2}\n\
             This run can only be continued while this onecall runs, because threads of the program \
             call tools."
        );
        assert_eq!(form.waiting(&run), waiting);
        let denied = (ItemId::known("r.1"), Verdict::Deny { reason: None });
        assert_eq!(form.read(&json!({ "action": "decline" })), FormAnswer::Decided(vec![denied]));
        for item in &mut items {
            item.ways = vec![ApprovalWay::Cli];
        }
        assert_eq!(Form::about(&WaitingRun { items: items.to_vec(), ..waiting }), None);
    }
}
