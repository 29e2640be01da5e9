//! Has a person decide about calls that need an approval. A call whose arguments cannot fit is
//! rejected without a question.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use onecall_core::{
    AnsweredVerdict, ApprovalWay, AskRule, Failure, ItemId, QuestionKind, ResolvedCall, ToolError,
    Verdict,
};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::arguments::fit_arguments;
use crate::approval::{Approvals, Asking};

/// The reason in the error of a denied call, if the person gave none.
const NO_REASON: &str = "no reason was given";

/// Obtains the approvals of one run.
pub(crate) struct ApprovalStep<'a> {
    approvals: &'a Approvals,
    asking: Asking<'a>,
    /// The calls that a person was asked about. A worker is not trusted: a second call of the same id
    /// would be answered with the approval of the first.
    asked: Mutex<HashSet<u64>>,
}

impl<'a> ApprovalStep<'a> {
    /// Creates the step: questions go to the people behind `asking`.
    pub(crate) fn new(approvals: &'a Approvals, asking: Asking<'a>) -> Self {
        Self { approvals, asking, asked: Mutex::default() }
    }

    /// The rule by which a call of this tool needs an approval; `None` if it needs none.
    pub(crate) fn rule(&self, spec: &onecall_core::ToolSpec) -> Option<AskRule> {
        self.approvals.rule(spec)
    }

    /// Waits for the approval of a call, and returns the call as it may be made.
    ///
    /// # Errors
    /// If the call is denied, cannot be asked about, or its arguments do not fit.
    pub(crate) async fn approved(
        &self,
        call: ResolvedCall,
        rule: &AskRule,
    ) -> Result<ResolvedCall, ToolError> {
        fit_arguments(&call)?;
        let is_first = self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id);
        if !is_first {
            let message = "it was not called, because its id was used before".to_owned();
            return Err(ToolError::InvalidCall { name: call.name, message });
        }
        let answer = self.answer(&call, rule).await?;
        self.apply(call, answer)
    }

    async fn answer(
        &self,
        call: &ResolvedCall,
        rule: &AskRule,
    ) -> Result<AnsweredVerdict, ToolError> {
        if let Some(answer) = self.asking.desk.covered(call).await {
            self.asking.log.verdict(call, QuestionKind::Approve, &answer);
            return Ok(answer);
        }
        let mut asked = call.clone();
        if let Some(recorded) = self.asking.journal.and_then(|journal| journal.recorded(call.id))
            && let Ok(arguments) = RawValue::from_string(recorded.call.arguments.clone())
        {
            // The question is about the arguments of the program, even if the call was sent with
            // others that a person approved.
            asked.arguments = arguments;
        }
        let item = ItemId::of(&call.run.id, call.id);
        let answer = self.asking.ask(&asked, QuestionKind::Approve, item, rule.name()).await;
        answer.map_err(|error| {
            let message =
                format!("it was not called, because nobody can be asked to approve it: {error}");
            ToolError::NeverSent { name: call.name.clone(), message }
        })
    }

    fn apply(
        &self,
        mut call: ResolvedCall,
        answer: AnsweredVerdict,
    ) -> Result<ResolvedCall, ToolError> {
        match answer.verdict {
            Verdict::Approve { arguments: None, .. } => Ok(call),
            Verdict::Approve { arguments: Some(arguments), .. } => {
                let is_object = matches!(arguments, Value::Object(_));
                match to_raw_value(&arguments) {
                    Ok(arguments) if is_object => call.arguments = arguments,
                    _ => return Err(unusable_answer(&call, "the edited arguments are no object")),
                }
                fit_arguments(&call)?;
                Ok(call)
            }
            Verdict::Deny { reason } => {
                let reason = reason.unwrap_or_else(|| NO_REASON.to_owned());
                Err(ToolError::Denied { name: call.name, reason, by: answer.by })
            }
            Verdict::GiveUp => {
                let reason = "the run was given up".to_owned();
                if let Some(journal) = self.asking.journal {
                    journal.stop(given_up(&call, &answer));
                }
                Err(ToolError::Denied { name: call.name, reason, by: answer.by })
            }
            Verdict::Happened { .. } | Verdict::NotHappened => {
                Err(unusable_answer(&call, "the answer does not fit the question"))
            }
        }
    }
}

/// The failure of a run that a person gives up, or that is given up because nobody has answered.
pub(super) fn given_up(call: &ResolvedCall, answer: &AnsweredVerdict) -> Failure {
    let line = call.site.as_ref().map_or(0, |site| site.line);
    let place = if line > 0 { format!(" (line {line})") } else { String::new() };
    let (name, by) = (&call.name, &answer.by);
    let message = match answer.way {
        ApprovalWay::Rule => {
            format!(
                "nobody answered in time whether '{name}'{place} happened; the run was given up"
            )
        }
        _ => format!("{by} gave the run up when it was asked about '{name}'{place}"),
    };
    Failure::refused("GivenUp", message)
}

fn unusable_answer(call: &ResolvedCall, reason: &str) -> ToolError {
    let message = format!("it was not called, because {reason}");
    ToolError::NeverSent { name: call.name.clone(), message }
}
