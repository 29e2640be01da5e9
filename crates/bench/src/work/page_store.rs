//! What the store of the page has beside runs: an audit trail, questions and users.

use std::path::Path;
use std::time::Duration;

use onecall_core::storage::{
    Approvals as _, AuditDecision, AuditEntry, AuditEvent, AuditOutcome, AuditTrail as _,
    AuditedArguments, AuditedCall, DurableRun, DurableState, Journals as _, Lease, Users as _,
};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, CallableName, ItemId, Principal,
    QuestionKind, RunId, Timestamp, UserName, Verdict,
};
use serde_json::json;

use super::page::{CALLS, PROGRAM, RUNS, tool};

/// How many of the newest runs have rows in the audit trail, one for each call.
const AUDITED_RUNS: u64 = 20_000;

/// How many rows are written at once.
const BATCH: usize = 5_000;

/// How many questions were answered, of which a few in the last day, and how many wait.
const ANSWERED: u64 = 2_000;
const OPEN: u64 = 30;

/// How many users there are.
const USERS: u64 = 500;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Writes a row for each call of the newest runs, and two for each call of the largest one.
pub fn add_audit_rows(path: &Path, now: Timestamp) -> Result<(), String> {
    let store = onecall_store::open_durable(path.to_owned(), 256);
    let runs = (RUNS - AUDITED_RUNS..RUNS)
        .flat_map(|run| (0..5).map(move |call| row(now, &format!("r{run:08}"), call, allowed())));
    let large = (0..CALLS)
        .flat_map(|call| [allowed(), ended()].map(|event| row(now, "large", call, event)));
    let rows: Vec<AuditEntry> = runs.chain(large).collect();
    rows.chunks(BATCH).try_for_each(|rows| store.append_audit(rows).map_err(text))
}

fn allowed() -> AuditEvent {
    let arguments = AuditedArguments { sha256: String::new(), bytes: 20, text: None };
    AuditEvent::Decided { decision: AuditDecision::Allow, rule: None, arguments }
}

fn ended() -> AuditEvent {
    AuditEvent::Ended { outcome: AuditOutcome::Ok, cached: false, duration_us: 900 }
}

fn row(at: Timestamp, run: &str, call: u64, event: AuditEvent) -> AuditEntry {
    let (run, kind) = (run.to_owned(), "program".to_owned());
    AuditEntry {
        at,
        user: UserName::local().to_string(),
        groups: Vec::new(),
        client: "claude-code".to_owned(),
        call: Some(AuditedCall { run, kind, program: None, tool: tool(call), id: call }),
        event,
    }
}

/// Adds questions with answers, most of them long ago, and some that wait.
pub fn add_questions(path: &Path, now: Timestamp) -> Result<(), String> {
    let store = onecall_store::open_durable(path.to_owned(), 256);
    // Runs that wait belong to a process that holds them, so that the page does not continue them.
    let waiting: Vec<DurableRun> = (0..OPEN).map(|number| durable_run(number, now)).collect();
    store.add_durable_runs(&waiting.iter().collect::<Vec<_>>()).map_err(text)?;
    for run in &waiting {
        store.add_question(&question(run.id.clone(), now), None).map_err(text)?;
    }
    for number in 0..ANSWERED {
        let asked = now.before(Duration::from_secs(3_600 * (ANSWERED - number) / 4));
        let run = RunId::from_existing(format!("e{number:08}"));
        let asked = store.add_question(&question(run, asked), None).map_err(text)?.question;
        let verdict = Verdict::Approve { scope: ApprovalScope::Once, arguments: None };
        let (by, way, at) = ("ada".to_owned(), ApprovalWay::Page, asked.asked);
        let answer = AnsweredVerdict { verdict, by, way, at };
        store.answer_question(&asked.item, &answer).map_err(text)?;
    }
    Ok(())
}

fn durable_run(number: u64, now: Timestamp) -> DurableRun {
    DurableRun {
        id: RunId::from_existing(format!("d{number:08}")),
        kind: "program".to_owned(),
        principal: Principal::local(),
        client: "claude-code".to_owned(),
        started: now,
        request: json!({ "kind": "program", "code": PROGRAM, "language": "python" }).to_string(),
        configuration: String::new(),
        seed: [0; 32],
        state: DurableState::Running,
        in_place: None,
        lease: Some(Lease {
            owner: "another process".to_owned(),
            fence: 1,
            until: now.after(Duration::from_secs(86_400)),
        }),
        resumed: 0,
        interruptions: 0,
    }
}

fn question(run: RunId, asked: Timestamp) -> ApprovalQuestion {
    ApprovalQuestion {
        item: ItemId::of(&run, 1),
        run,
        call: 1,
        kind: QuestionKind::Approve,
        name: CallableName::new(tool(1)),
        line: Some(3),
        arguments: json!({ "text": "x".repeat(2_000) }).to_string(),
        rule: "approvals.ask: mcp__sales__*".to_owned(),
        asked,
        expires: asked.after(Duration::from_secs(365 * 86_400)),
        ways: ApprovalWay::CONFIGURABLE.to_vec(),
    }
}

/// Adds users with groups.
pub fn add_users(path: &Path, now: Timestamp) -> Result<(), String> {
    let store = onecall_store::open_durable(path.to_owned(), 256);
    for number in 0..USERS {
        let name = UserName::parse(&format!("user{number:04}")).map_err(text)?;
        let groups = [format!("team{}", number % 20)].into();
        store.add_user(&name, &groups, now).map_err(text)?;
    }
    Ok(())
}
