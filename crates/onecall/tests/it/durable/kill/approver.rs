//! The person of the kill test: approves and denies calls after some time, and says of a call that
//! was under way when a gateway was killed whether it happened.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use onecall_core::storage::{AnswerReceipt, DurableStore, QuestionFilter, StoreError};
use onecall_core::{
    AnsweredVerdict, ApprovalScope, ApprovalWay, ItemId, QuestionKind, Timestamp, Verdict,
};
use serde_json::{Value, json};

use super::Random;
use super::check::Effects;
use crate::support::{Home, finish};

/// Every so many approvals, a call is denied.
const DENIED: u64 = 6;

/// Every so many answers, one is given on the command line.
const BY_COMMAND: u64 = 8;

pub struct Approver {
    random: Random,
    /// When each open question is answered.
    due: HashMap<ItemId, Instant>,
    pub approved: u64,
    pub denied: u64,
    pub unknown_happened: u64,
    pub unknown_not: u64,
}

impl Approver {
    pub fn new(seed: u64) -> Self {
        let (due, random) = (HashMap::new(), Random(!seed));
        Self { random, due, approved: 0, denied: 0, unknown_happened: 0, unknown_not: 0 }
    }

    /// Answers the questions that are due.
    pub fn answer_questions(&mut self, store: &dyn DurableStore, home: &Home, effects: &Path) {
        let filter = QuestionFilter { run: None, open: true, ..QuestionFilter::default() };
        for stored in store.questions(&filter).expect("a store") {
            let question = stored.question;
            let delay = Duration::from_millis(self.random.below(1_200));
            let due =
                *self.due.entry(question.item.clone()).or_insert_with(|| Instant::now() + delay);
            if Instant::now() < due {
                continue;
            }
            let arguments: Value = serde_json::from_str(&question.arguments).expect("arguments");
            let id = arguments["id"].as_str().expect("the id of an effect");
            let (verdict, counter) = match question.kind {
                QuestionKind::Approve if self.random.below(DENIED) == 0 => {
                    (Verdict::Deny { reason: Some("not now".to_owned()) }, &mut self.denied)
                }
                QuestionKind::Approve => {
                    let scope = ApprovalScope::Once;
                    (Verdict::Approve { scope, arguments: None }, &mut self.approved)
                }
                QuestionKind::Unknown => match Effects::read(effects).number(id) {
                    Some(number) => {
                        let result = json!({ "id": id, "number": number });
                        (Verdict::Happened { result }, &mut self.unknown_happened)
                    }
                    None => (Verdict::NotHappened, &mut self.unknown_not),
                },
            };
            let has_counted = match self.random.below(BY_COMMAND) {
                0 => answer_by_command(home, &question.item, &verdict),
                _ => answer_in_store(store, &question.item, verdict),
            };
            *counter += u64::from(has_counted);
        }
    }
}

fn answer_in_store(store: &dyn DurableStore, item: &ItemId, verdict: Verdict) -> bool {
    let (by, way, at) = ("tester".to_owned(), ApprovalWay::Cli, Timestamp::now());
    let answer = AnsweredVerdict { verdict, by, way, at };
    match store.answer_question(item, &answer) {
        Ok(receipt) => receipt == AnswerReceipt::Accepted,
        // A database may be too slow for the machine. The question is answered at the next turn.
        Err(StoreError::Unreachable { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn answer_by_command(home: &Home, item: &ItemId, verdict: &Verdict) -> bool {
    let result =
        if let Verdict::Happened { result } = verdict { result.to_string() } else { String::new() };
    let arguments = match verdict {
        Verdict::Deny { .. } => vec!["deny", item.as_str(), "--reason", "not now"],
        Verdict::Happened { .. } => vec!["approve", item.as_str(), "--happened", &result],
        Verdict::NotHappened => vec!["approve", item.as_str(), "--not-happened"],
        _ => vec!["approve", item.as_str()],
    };
    let done = finish(home.onecall_with_config(&[&["approvals"], &arguments[..]].concat()));
    let is_late = done.stderr.contains("needs no answer any more");
    assert!(done.code == Some(0) || is_late, "{arguments:?}: {done:?}");
    done.code == Some(0)
}
