//! Questions and answers as JSON.

use onecall_core::storage::{QuestionState, StoredQuestion};
use onecall_core::{AnsweredVerdict, QuestionKind};
use serde_json::{Value, json};

use super::Desk;

impl Desk {
    /// A question with its answer, without secrets.
    pub(super) fn question_json(&self, stored: &StoredQuestion) -> Value {
        let question = &stored.question;
        let (state, answer) = match &stored.state {
            QuestionState::Open => ("open", None),
            QuestionState::Answered(answer) => ("answered", Some(self.answer_json(answer))),
            QuestionState::Withdrawn => ("withdrawn", None),
        };
        json!({
            "id": question.item.as_str(),
            "run": question.run.as_str(),
            "call": question.call,
            "kind": kind_name(question.kind),
            "tool": question.name.as_str(),
            "line": question.line,
            "arguments": self.json_without_secrets(&question.arguments),
            "rule": question.rule,
            "asked": question.asked.to_string(),
            "expires": question.expires.to_string(),
            "ways": question.ways,
            "state": state,
            "answer": answer,
        })
    }

    /// An answer, and who gave it.
    pub(super) fn answer_json(&self, answer: &AnsweredVerdict) -> Value {
        let verdict = serde_json::to_string(&answer.verdict).unwrap_or_default();
        let mut value = self.json_without_secrets(&verdict);
        if let Value::Object(fields) = &mut value {
            fields.insert("by".to_owned(), json!(answer.by));
            fields.insert("way".to_owned(), json!(answer.way.name()));
            fields.insert("at".to_owned(), json!(answer.at.to_string()));
        }
        value
    }

    /// A JSON text as a value without secrets. A text that is no JSON afterwards becomes a string.
    pub(super) fn json_without_secrets(&self, text: &str) -> Value {
        let text = self.redactor.redact(text.to_owned());
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}

fn kind_name(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Approve => "approve",
        QuestionKind::Unknown => "unknown",
    }
}
