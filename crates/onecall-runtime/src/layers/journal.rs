//! Writes the calls of a run to its journal, and answers those of a continued run from it. While the
//! program repeats what it did before, no other call is made.

use onecall_core::{
    Answer, AnswerForm, BoxFuture, CallHandler, CallResult, Failure, ItemId, QuestionKind,
    ResolvedCall, ToolSpec, ToolValue, Verdict,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::approval::given_up;
use super::write_ahead::is_read_only;
use crate::approval::Asking;
use crate::journal::{Journal, OpenJournalCall};

/// The rule of a question about a call whose outcome is unknown, as people see it.
const UNKNOWN_OUTCOME: &str = "the gateway ended while the call was under way";

/// Journals the calls of one run.
pub(crate) struct JournalLayer<'a, H> {
    inner: H,
    journal: Option<&'a Journal>,
    /// Asks about calls whose outcome is unknown.
    asking: Option<Asking<'a>>,
}

impl<'a, H> JournalLayer<'a, H> {
    /// Creates the layer. Without a journal it does nothing.
    pub(crate) fn new(inner: H, journal: Option<&'a Journal>, asking: Option<Asking<'a>>) -> Self {
        Self { inner, journal, asking }
    }
}

impl<H: CallHandler> CallHandler for JournalLayer<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match self.journal {
            Some(journal) => Box::pin(self.answer(journal, call)),
            None => self.inner.call(call),
        }
    }
}

impl<H: CallHandler> JournalLayer<'_, H> {
    async fn answer(&self, journal: &Journal, mut call: ResolvedCall) -> CallResult {
        let id = call.id;
        if !journal.check_definition(&call) {
            return std::future::pending().await;
        }
        let open = match journal.open_call(id).await {
            Ok(open) => open,
            Err(recorded) => return recorded.map(Answer::journalled),
        };
        let attempts = journal.recorded(id).map_or(0, |recorded| recorded.attempts);
        if attempts > 0 {
            self.restore_arguments(journal, &mut call).await;
            if !call.tool.as_ref().is_ok_and(|spec| is_repeatable(spec))
                && let Some(value) = self.ask_what_happened(journal, &call, attempts).await
            {
                open.end(Ok(value.clone()));
                return Ok(Answer::journalled(value));
            }
        }
        self.made(open, call).await
    }

    /// Gives a call that an earlier process sent the arguments that it was sent with: a person may
    /// have approved it with other arguments than those of the program. If that is not known, the run
    /// ends.
    async fn restore_arguments(&self, journal: &Journal, call: &mut ResolvedCall) {
        let Some(asking) = self.asking else { return };
        let verdict = asking.desk.verdict(&ItemId::of(&call.run.id, call.id)).await;
        match verdict.map(|answer| answer.map(|answer| answer.verdict)) {
            Ok(Some(Verdict::Approve { arguments: Some(arguments), .. })) => {
                if let Ok(arguments) = to_raw_value(&arguments) {
                    call.arguments = arguments;
                }
            }
            Ok(_) => {}
            Err(error) => {
                journal.stop(unknown_outcome(call, &error.to_string()));
                std::future::pending::<()>().await;
            }
        }
    }

    async fn made(&self, open: OpenJournalCall<'_>, call: ResolvedCall) -> CallResult {
        let result = self.inner.call(call).await;
        open.end(result.as_ref().map(|answer| answer.value.clone()).map_err(Clone::clone));
        result
    }

    /// Asks a person whether a call happened that was under way when an earlier process ended. The
    /// result is its value, or `None` if the call is to be made now. If nobody knows, the run ends.
    async fn ask_what_happened(
        &self,
        journal: &Journal,
        call: &ResolvedCall,
        attempts: u64,
    ) -> Option<ToolValue> {
        let failure = match self.asking {
            None => unknown_outcome(call, "nobody can be asked about it"),
            Some(asking) => {
                let item = ItemId::of_attempt(&call.run.id, call.id, attempts);
                let (kind, rule) = (QuestionKind::Unknown, UNKNOWN_OUTCOME.to_owned());
                match asking.ask(call, kind, item, rule).await {
                    Ok(answer) => match answer.verdict {
                        Verdict::Happened { result } => {
                            match to_raw_value(&in_form(call.form, result)) {
                                Ok(value) => return Some(ToolValue::Json(value)),
                                Err(error) => unknown_outcome(call, &error.to_string()),
                            }
                        }
                        Verdict::NotHappened => return None,
                        Verdict::GiveUp | Verdict::Deny { .. } => given_up(call, &answer),
                        Verdict::Approve { .. } => {
                            unknown_outcome(call, "the answer does not fit the question")
                        }
                    },
                    Err(error) => unknown_outcome(call, &error.to_string()),
                }
            }
        };
        journal.stop(failure);
        std::future::pending().await
    }
}

/// The result that a person states, in the form in which the answer is wanted.
fn in_form(form: AnswerForm, result: Value) -> Value {
    if form == AnswerForm::Value || result.get("content").is_some_and(Value::is_array) {
        return result;
    }
    let text = match &result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut whole = json!({ "content": [{ "type": "text", "text": text }] });
    if result.is_object() {
        whole["structuredContent"] = result;
    }
    whole
}

/// Whether a call of the tool can be repeated without further effects.
fn is_repeatable(spec: &ToolSpec) -> bool {
    is_read_only(spec) || spec.annotations.idempotent_hint == Some(true)
}

/// The failure of a run with a call of which nobody knows whether it happened.
fn unknown_outcome(call: &ResolvedCall, reason: &str) -> Failure {
    let line = call.site.as_ref().map_or(0, |site| site.line);
    let place = if line > 0 { format!(" (line {line})") } else { String::new() };
    let message = format!(
        "{UNKNOWN_OUTCOME}: '{}'{place}. It is not known whether it happened, and {reason}",
        call.name
    );
    Failure::refused("UnknownOutcome", message)
}
