//! The form by which a client asks its user about the calls of a run: one decision for each call,
//! and a reason if there is only one.

use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, ItemId, QuestionKind, RunId,
    Timestamp, UserName, Verdict,
};
use onecall_gateway::WaitingRun;
use serde_json::{Map, Value, json};

use super::waiting_text::item_line;

/// The decisions of a form.
const APPROVE: &str = "approve";
const DENY: &str = "deny";

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
    /// A form about those calls that a form can decide and the client may; `None` if there are none.
    /// What happened to a call during a crash is too much for a form.
    pub(crate) fn about(items: &[ApprovalQuestion]) -> Option<Self> {
        let items: Vec<_> = items
            .iter()
            .filter(|item| item.kind == QuestionKind::Approve && item.allows(ApprovalWay::Client))
            .take(MAX_ITEMS)
            .cloned()
            .collect();
        (!items.is_empty()).then_some(Self { items })
    }

    /// The calls that the form asks about.
    pub(crate) fn items(&self) -> &[ApprovalQuestion] {
        &self.items
    }

    /// The run that the form asks about, as a run that waits for these calls.
    pub(crate) fn waiting(&self, run: &RunId) -> WaitingRun {
        WaitingRun { run: run.clone(), items: self.items.clone(), in_place: None }
    }

    /// The parameters of the request `elicitation/create`.
    pub(crate) fn params(&self) -> Value {
        let lines: Vec<_> = self.items.iter().map(item_line).collect();
        let mut properties = Map::new();
        for item in &self.items {
            let title = match self.items.len() {
                1 => "Decision".to_owned(),
                _ => item_line(item),
            };
            properties.insert(
                field(item.call),
                json!({ "type": "string", "title": title, "enum": [APPROVE, DENY] }),
            );
        }
        let required: Vec<_> = properties.keys().cloned().collect();
        if self.items.len() == 1 {
            let reason = json!({ "type": "string", "title": "Reason, if you deny it" });
            properties.insert(REASON.to_owned(), reason);
        }
        json!({
            "mode": "form",
            "message": format!(
                "A program wants to make {}:\n{}",
                if lines.len() == 1 { "this call" } else { "these calls" },
                lines.join("\n")
            ),
            "requestedSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
            },
        })
    }

    /// Reads the user's answer.
    pub(crate) fn read(&self, answer: &Value) -> FormAnswer {
        let calls = self.items.iter().map(|item| (item.call, item.item.clone()));
        read_answer(calls, answer)
    }
}

/// Reads the answer to a form about these calls. Calls without a decision stay open.
pub(crate) fn read_answer(
    calls: impl Iterator<Item = (u64, ItemId)>,
    answer: &Value,
) -> FormAnswer {
    let reason = || {
        let reason = answer.pointer("/content/reason").and_then(Value::as_str);
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        reason.map(|reason| reason.chars().take(MAX_REASON).collect())
    };
    let decided = match answer.get("action").and_then(Value::as_str) {
        Some("decline") => {
            calls.map(|(_, item)| (item, Verdict::Deny { reason: reason() })).collect()
        }
        Some("accept") => {
            let decisions = calls.map(|(call, item)| {
                match answer.get("content")?.get(field(call)).and_then(Value::as_str)? {
                    APPROVE => Some((
                        item,
                        Verdict::Approve { scope: ApprovalScope::Once, arguments: None },
                    )),
                    DENY => Some((item, Verdict::Deny { reason: reason() })),
                    _ => None,
                }
            });
            decisions.flatten().collect::<Vec<_>>()
        }
        Some("cancel") => return FormAnswer::Dismissed,
        _ => return FormAnswer::Invalid,
    };
    if decided.is_empty() { FormAnswer::Invalid } else { FormAnswer::Decided(decided) }
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

/// The name of the field for a call.
fn field(call: u64) -> String {
    format!("call_{call}")
}

#[cfg(test)]
mod tests {
    use onecall_core::CallableName;

    use super::*;

    fn question(call: u64, kind: QuestionKind) -> ApprovalQuestion {
        let run = RunId::from_existing("r");
        ApprovalQuestion {
            item: ItemId::of(&run, call),
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

    #[test]
    fn each_call_has_its_own_decision() {
        let items = [question(1, QuestionKind::Approve), question(4, QuestionKind::Approve)];
        let form = Form::about(&items).unwrap();
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
        let items = [question(1, QuestionKind::Approve), question(2, QuestionKind::Unknown)];
        let form = Form::about(&items).unwrap();
        assert!(form.params()["requestedSchema"]["properties"]["reason"].is_object());
        let answer =
            json!({ "action": "accept", "content": { "call_1": "deny", "reason": " not now " } });
        let denied = Verdict::Deny { reason: Some("not now".to_owned()) };
        assert_eq!(form.read(&answer), FormAnswer::Decided(vec![(ItemId::known("r.1"), denied)]));
        assert_eq!(Form::about(&items[1..]), None);
    }
}
