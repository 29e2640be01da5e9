//! Questions of programs, such as a search for tools. They are journalled like calls of read-only tools:
//! a continued run gets the same answers.

use onecall_core::{CallableName, JournalCall, ProgramQuestion, ToolError, ToolValue};
use serde_json::Value;

use super::Journal;

/// What the names of questions begin with in a journal. No tool has such a name.
const PREFIX: &str = "question:";

/// Whether a journalled call is a question.
pub(super) fn is_question(name: &CallableName) -> bool {
    name.as_str().starts_with(PREFIX)
}

impl Journal {
    /// Notes a question of the program, as soon as it is asked.
    pub(crate) fn asked(&self, id: u64, question: &ProgramQuestion) {
        // A question is an object with one entry: its name and its fields.
        let written = serde_json::to_value(question).unwrap_or_default();
        let entry = written.as_object().and_then(|entries| entries.iter().next());
        let (name, fields) = entry.map_or(("", &Value::Null), |(name, fields)| (name, fields));
        self.called(JournalCall {
            id,
            name: CallableName::new(format!("{PREFIX}{name}")),
            site: None,
            arguments: fields.to_string(),
            definition: None,
        });
    }

    /// Answers a question from the journal, or with `answer`, which is then journalled.
    pub(crate) async fn answer_question(
        &self,
        id: u64,
        answer: impl Future<Output = Result<ToolValue, ToolError>>,
    ) -> Result<ToolValue, ToolError> {
        match self.open_call(id).await {
            Ok(open) => {
                let answer = answer.await;
                open.end(answer.clone());
                answer
            }
            Err(recorded) => recorded,
        }
    }
}
