//! What was decided about the calls of a run: by rules, by people, and by their earlier approvals.

use std::collections::{BTreeMap, HashMap, VecDeque};

use onecall_core::storage::{
    AuditDecision, AuditEvent, AuditFilter, QuestionFilter, QuestionState, RunRecord,
    StoredQuestion,
};
use onecall_core::{
    AnsweredVerdict, ApprovalScope, ApprovalWay, Digest, QuestionKind, RunId, Verdict,
};

use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::verdict;

/// How many rows of the audit trail are read for one run.
const MAX_AUDIT_ROWS: usize = 20_000;

/// How the names of rules begin that need an approval for every call of a tool, whatever its arguments are.
const RULE_OF_TOOL: &str = "approvals.";

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallDecision {
    /// Whether a rule has denied the call, or it needed an approval.
    pub(super) is_special: bool,
    /// The decision as the end of a sentence.
    pub(super) text: String,
    pub(super) sent: SentArguments,
}

/// The arguments that a call was sent with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SentArguments {
    /// Those that the program wrote.
    #[default]
    Programs,
    /// Others, with which a person has approved the call. They have no secrets.
    Other(String),
    /// Others, which were not kept.
    OtherNotKept,
}

/// What was decided about the calls of a run.
#[derive(Default)]
pub(super) struct Decisions {
    /// For each call of the record, what was decided, if it is known.
    of_calls: Vec<Option<CallDecision>>,
}

/// What is known about a call before it is found in the record, which has no numbers of calls.
#[derive(Default)]
struct KnownCall {
    tool: String,
    /// The digest of the arguments that the program wrote.
    sha256: String,
    decision: Option<AuditDecision>,
    rule: Option<String>,
    /// What was answered, as the audit trail and the stored questions have it, oldest first.
    audited: Vec<String>,
    asked: Vec<String>,
    sent: SentArguments,
}

/// A person's approval of all calls of a tool in the run.
struct ApprovalOfRun {
    by: String,
    rule: String,
    /// The first call that it is the answer to, by its position in the record.
    first: usize,
}

impl Decisions {
    /// Reads the audit trail, if there is one, and the answers of people.
    pub(super) fn read(context: &PageContext, record: &RunRecord) -> Result<Self, PageError> {
        let id = &record.run.id;
        let mut known = BTreeMap::new();
        if context.gateway.audit().is_some() {
            read_audit(context, id, &mut known)?;
        }
        let filter = QuestionFilter { run: Some(id.clone()), ..QuestionFilter::default() };
        let questions = context.store.questions(&filter)?;
        for stored in &questions {
            add_question(&mut known, stored);
        }
        // Equal calls are told apart by their order.
        let mut queues = HashMap::<(String, String), VecDeque<(u64, KnownCall)>>::new();
        for (number, call) in known {
            let key = (call.tool.clone(), call.sha256.clone());
            queues.entry(key).or_default().push_back((number, call));
        }
        let found = record.calls.iter().map(|call| {
            let key = (call.name.clone(), call.arguments_hash.clone());
            queues.get_mut(&key).and_then(VecDeque::pop_front)
        });
        let found: Vec<_> = found.collect();
        let approvals = approvals_of_run(&questions, &found);
        let redacted = |decision: CallDecision| CallDecision {
            text: context.redacted(&decision.text),
            sent: match decision.sent {
                SentArguments::Other(text) => SentArguments::Other(context.redacted(&text)),
                other => other,
            },
            ..decision
        };
        let of_calls =
            found.into_iter().zip(&record.calls).enumerate().map(|(index, (known, call))| {
                let decision = match known {
                    Some((_, known)) => Some(known.decision()),
                    // A call that failed may have failed before it needed an approval.
                    None if call.error.is_some() => None,
                    None => {
                        let approval = approvals.get(call.name.as_str());
                        approval.filter(|approval| approval.first < index).map(covered)
                    }
                };
                decision.map(redacted)
            });
        Ok(Self { of_calls: of_calls.collect() })
    }

    /// What was decided about the call with this index.
    pub(super) fn of(&self, index: usize) -> Option<&CallDecision> {
        self.of_calls.get(index)?.as_ref()
    }
}

impl KnownCall {
    fn decision(self) -> CallDecision {
        let answers = if self.asked.is_empty() { self.audited } else { self.asked };
        let because =
            |rule: Option<String>| rule.map_or(String::new(), |it| format!(", because of {it}"));
        let by = |rule: Option<String>| rule.map_or(String::new(), |it| format!(" by {it}"));
        let text = match (answers.as_slice(), self.decision) {
            ([], Some(AuditDecision::Allow)) => format!("allowed{}", by(self.rule)),
            ([], Some(AuditDecision::Deny)) => format!("denied{}", by(self.rule)),
            ([], Some(AuditDecision::Ask) | None) => {
                format!("a person was asked{}", because(self.rule))
            }
            (answers, _) => format!("{}{}", answers.join(", then "), because(self.rule)),
        };
        let is_special = !answers.is_empty() || self.decision != Some(AuditDecision::Allow);
        CallDecision { is_special, text, sent: self.sent }
    }
}

/// Adds what the audit trail has about the calls of a run.
fn read_audit(
    context: &PageContext,
    id: &RunId,
    known: &mut BTreeMap<u64, KnownCall>,
) -> Result<(), PageError> {
    let limit = Some(MAX_AUDIT_ROWS);
    let filter = AuditFilter { decisions_of: Some(id.clone()), limit, ..AuditFilter::default() };
    // The newest row is the first one.
    for row in context.store.audit_rows(&filter)?.into_iter().rev() {
        let Some(call) = row.entry.call else { continue };
        match row.entry.event {
            AuditEvent::Decided { decision, rule, arguments } => {
                let entry = known.entry(call.id).or_default();
                entry.tool = call.tool;
                entry.sha256 = arguments.sha256;
                entry.decision = Some(decision);
                entry.rule = rule;
            }
            AuditEvent::Answered { verdict, by, way, arguments, .. } => {
                let entry = known.entry(call.id).or_default();
                let has_other = arguments.is_some();
                entry.audited.push(audited_answer(&verdict, has_other, &by, way));
                if let Some(arguments) = arguments {
                    entry.sent =
                        arguments.text.map_or(SentArguments::OtherNotKept, SentArguments::Other);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds what a stored question says about its call.
fn add_question(known: &mut BTreeMap<u64, KnownCall>, stored: &StoredQuestion) {
    let StoredQuestion { question, state, .. } = stored;
    let entry = known.entry(question.call).or_default();
    entry.tool = question.name.to_string();
    entry.sha256 = Digest::of(&question.arguments).to_string();
    if question.kind == QuestionKind::Approve || entry.rule.is_none() {
        entry.rule = Some(question.rule.clone());
    }
    entry.asked.push(match state {
        QuestionState::Open => "waits for a person".to_owned(),
        QuestionState::Withdrawn => "was not answered".to_owned(),
        QuestionState::Answered(answer) => {
            if let Verdict::Approve { arguments: Some(arguments), .. } = &answer.verdict {
                entry.sent = SentArguments::Other(arguments.to_string());
            }
            answered(answer)
        }
    });
}

/// An answer as the end of a sentence: `approved with other arguments by ada`.
fn answered(answer: &AnsweredVerdict) -> String {
    match (&answer.verdict, answer.way) {
        // A question that has expired is answered by no person.
        (Verdict::Deny { .. } | Verdict::GiveUp, ApprovalWay::Rule) => {
            "was not answered in time".to_owned()
        }
        (verdict, _) => format!("{} by {}", verdict::in_past_tense(verdict), answer.by),
    }
}

/// An answer as the audit trail has it, as the end of a sentence.
fn audited_answer(verdict: &str, has_other_arguments: bool, by: &str, way: ApprovalWay) -> String {
    match (verdict, way) {
        ("approve", ApprovalWay::Rule) => format!("covered by {by}'s earlier approval"),
        ("deny" | "give_up", ApprovalWay::Rule) => "was not answered in time".to_owned(),
        ("approve", _) if has_other_arguments => format!("approved with other arguments by {by}"),
        ("approve", _) => format!("approved by {by}"),
        ("deny", _) => format!("denied by {by}"),
        ("give_up", _) => format!("given up by {by}"),
        ("happened", _) => format!("said to have happened by {by}"),
        ("not_happened", _) => format!("said not to have happened by {by}"),
        (other, _) => format!("{} by {by}", other.replace('_', " ")),
    }
}

/// The approvals that cover all calls of a tool in the run, by tool. The store has no question about the calls that
/// they cover. Where a policy asks, other calls of the tool may not have needed one.
fn approvals_of_run(
    questions: &[StoredQuestion],
    found: &[Option<(u64, KnownCall)>],
) -> HashMap<String, ApprovalOfRun> {
    let mut approvals = HashMap::<String, ApprovalOfRun>::new();
    for StoredQuestion { question, state, .. } in questions {
        let QuestionState::Answered(answer) = state else { continue };
        let is_of_run =
            matches!(answer.verdict, Verdict::Approve { scope: ApprovalScope::Run, .. });
        let is_call = |known: &Option<(u64, KnownCall)>| {
            known.as_ref().is_some_and(|(number, _)| *number == question.call)
        };
        if is_of_run
            && question.rule.starts_with(RULE_OF_TOOL)
            && let Some(first) = found.iter().position(is_call)
        {
            let (by, rule) = (answer.by.clone(), question.rule.clone());
            let name = question.name.to_string();
            approvals.entry(name).or_insert(ApprovalOfRun { by, rule, first });
        }
    }
    approvals
}

fn covered(approval: &ApprovalOfRun) -> CallDecision {
    let ApprovalOfRun { by, rule, .. } = approval;
    CallDecision {
        is_special: true,
        text: format!("covered by {by}'s earlier approval, because of {rule}"),
        sent: SentArguments::Programs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_trail_are_sentences() {
        let rows = [
            ("approve", false, ApprovalWay::Page, "approved by ada"),
            ("approve", true, ApprovalWay::Cli, "approved with other arguments by ada"),
            ("approve", false, ApprovalWay::Rule, "covered by ada's earlier approval"),
            ("deny", false, ApprovalWay::Client, "denied by ada"),
            ("deny", false, ApprovalWay::Rule, "was not answered in time"),
            ("not_happened", false, ApprovalWay::Page, "said not to have happened by ada"),
        ];
        for (verdict, has_other, way, expected) in rows {
            assert_eq!(audited_answer(verdict, has_other, "ada", way), expected);
        }
    }

    #[test]
    fn a_decision_names_its_rule_and_all_answers() {
        let known = |decision, audited: &[&str], asked: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let (audited, asked) = (owned(audited), owned(asked));
            let rule = Some("x".to_owned());
            let decision =
                KnownCall { decision, rule, audited, asked, ..KnownCall::default() }.decision();
            (decision.text, decision.is_special)
        };
        let (allow, ask) = (Some(AuditDecision::Allow), Some(AuditDecision::Ask));
        assert_eq!(known(allow, &[], &[]), ("allowed by x".to_owned(), false));
        assert_eq!(known(ask, &[], &[]), ("a person was asked, because of x".to_owned(), true));
        assert_eq!(known(ask, &["a", "b"], &[]), ("a, then b, because of x".to_owned(), true));
        assert_eq!(known(ask, &["a"], &["c"]), ("c, because of x".to_owned(), true));
    }
}
