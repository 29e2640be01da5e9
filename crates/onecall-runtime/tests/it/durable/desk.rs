//! A desk at which the test is the person.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, BoxFuture, ItemId, QuestionKind,
    ResolvedCall, RunId, Timestamp, Verdict,
};
use onecall_runtime::{ApprovalDesk, DeskError};
use serde_json::{Value, json};
use tokio::sync::watch;

#[derive(Default)]
pub struct Desk {
    /// All questions that were asked, in their order.
    questions: watch::Sender<Vec<ApprovalQuestion>>,
    answers: watch::Sender<HashMap<ItemId, Verdict>>,
    /// The answer to every question that has none of its own.
    default: Option<Verdict>,
    /// Whether calls of unknown outcome have happened, if the person knows.
    pub happened: Mutex<Option<bool>>,
    withdrawn: watch::Sender<Vec<ItemId>>,
    /// An approval that covers all calls with these arguments.
    pub covers: Mutex<Option<String>>,
}

pub fn approve() -> Verdict {
    Verdict::Approve { scope: ApprovalScope::Once, arguments: None }
}

pub fn deny(reason: &str) -> Verdict {
    Verdict::Deny { reason: Some(reason.to_owned()) }
}

fn answered(verdict: Verdict) -> AnsweredVerdict {
    let (by, way) = ("ada".to_owned(), ApprovalWay::Cli);
    AnsweredVerdict { verdict, by, way, at: Timestamp(1_000) }
}

impl Desk {
    /// A desk that gives this answer to every question.
    pub fn always(verdict: Verdict) -> Self {
        Self { default: Some(verdict), ..Self::default() }
    }

    pub fn answer(&self, item: &ItemId, verdict: Verdict) {
        self.answers.send_modify(|answers| _ = answers.insert(item.clone(), verdict));
    }

    pub fn questions(&self) -> Vec<ApprovalQuestion> {
        self.questions.borrow().clone()
    }

    pub fn withdrawn(&self) -> Vec<ItemId> {
        self.withdrawn.borrow().clone()
    }

    /// Waits until this many questions were asked.
    pub async fn asked(&self, count: usize) -> Vec<ApprovalQuestion> {
        let mut questions = self.questions.subscribe();
        questions.wait_for(|questions| questions.len() >= count).await.unwrap().clone()
    }

    /// Waits until a question was withdrawn.
    pub async fn has_withdrawn(&self) {
        self.withdrawn.subscribe().wait_for(|items| !items.is_empty()).await.unwrap();
    }
}

impl ApprovalDesk for Desk {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<AnsweredVerdict, DeskError>> {
        let (item, kind) = (question.item.clone(), question.kind);
        let arguments: Value = serde_json::from_str(&question.arguments).unwrap();
        let tool = question.name.as_str().trim_start_matches("mcp__s__");
        let result = json!({ "id": arguments["id"], "tool": tool });
        self.questions.send_modify(|questions| questions.push(question));
        Box::pin(async move {
            if let (QuestionKind::Unknown, Some(happened)) = (kind, *self.happened.lock().unwrap())
            {
                return Ok(answered(if happened {
                    Verdict::Happened { result }
                } else {
                    Verdict::NotHappened
                }));
            }
            let mut answers = self.answers.subscribe();
            if let Some(verdict) = answers.borrow().get(&item).or(self.default.as_ref()) {
                return Ok(answered(verdict.clone()));
            }
            let answers = answers.wait_for(|answers| answers.contains_key(&item)).await.unwrap();
            Ok(answered(answers[&item].clone()))
        })
    }

    fn withdraw(&self, _: &RunId, item: &ItemId) {
        self.withdrawn.send_modify(|items| items.push(item.clone()));
    }

    fn covered<'a>(&'a self, call: &'a ResolvedCall) -> BoxFuture<'a, Option<AnsweredVerdict>> {
        let covers = self.covers.lock().unwrap().clone();
        let is_covered = covers.as_deref() == Some(call.arguments.get());
        Box::pin(std::future::ready(is_covered.then(|| answered(approve()))))
    }

    fn verdict<'a>(
        &'a self,
        item: &'a ItemId,
    ) -> BoxFuture<'a, Result<Option<AnsweredVerdict>, DeskError>> {
        let answers = self.answers.borrow();
        let verdict = answers.get(item).or(self.default.as_ref()).cloned().map(answered);
        Box::pin(std::future::ready(Ok(verdict)))
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn ways(&self) -> Vec<ApprovalWay> {
        ApprovalWay::CONFIGURABLE.to_vec()
    }
}
