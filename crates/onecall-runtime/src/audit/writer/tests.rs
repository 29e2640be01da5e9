#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};

use onecall_core::storage::{
    AuditFilter, AuditHead, AuditReport, AuditRow, AuditedArguments, ExpectedHead,
};
use onecall_core::{Digest, storage::AuditDecision};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(30);

const MAX_AGE: Duration = Duration::from_secs(86_400);

/// A trail in memory, whose disk can be full.
#[derive(Default)]
struct MemoryTrail {
    /// The rows of each append.
    commits: Mutex<Vec<Vec<AuditEntry>>>,
    is_full: AtomicBool,
    /// Held by a test to keep the thread from writing.
    gate: Mutex<()>,
    /// How long before now the rows were that had to go, at each removal of old rows.
    pruned: Mutex<Vec<Duration>>,
}

impl MemoryTrail {
    fn rows(&self) -> Vec<AuditEntry> {
        self.commits.lock().unwrap().concat()
    }
}

impl AuditTrail for MemoryTrail {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        let _gate = self.gate.lock().unwrap();
        if self.is_full.load(Ordering::SeqCst) {
            return Err(StoreError::Disabled { reason: "the disk is full".to_owned() });
        }
        self.commits.lock().unwrap().push(entries.to_vec());
        Ok(())
    }

    fn audit_rows(&self, _: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        Ok(Vec::new())
    }

    fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        Ok(None)
    }

    fn verify_audit(&self, _: Option<ExpectedHead>) -> Result<AuditReport, StoreError> {
        Ok(AuditReport::default())
    }

    fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<u64, StoreError> {
        self.pruned.lock().unwrap().push(now.since(before));
        Ok(0)
    }
}

fn start() -> (Arc<MemoryTrail>, Arc<AuditWriter>) {
    let trail = Arc::new(MemoryTrail::default());
    let settings = AuditSettings {
        detail: AuditDetail::Full,
        redactor: Redactor::new(["hunter2-hunter2"]),
        max_age: MAX_AGE,
    };
    let writer = AuditWriter::start_with(trail.clone(), settings, Duration::from_millis(1));
    (trail, writer)
}

fn changed(change: &str) -> AuditEntry {
    AuditEntry::of_gateway(Timestamp(1), AuditEvent::Changed { change: change.to_owned() })
}

fn decided(text: &str) -> AuditEntry {
    let arguments = AuditedArguments {
        sha256: Digest::of(text).to_string(),
        bytes: text.len() as u64,
        text: Some(text.to_owned()),
    };
    let event = AuditEvent::Decided { decision: AuditDecision::Allow, rule: None, arguments };
    AuditEntry::of_gateway(Timestamp(1), event)
}

#[tokio::test]
async fn rows_are_on_disk_when_a_call_has_waited_for_them() {
    let (trail, writer) = start();
    let entries: Vec<_> = (0..100).map(|number| changed(&number.to_string())).collect();
    let positions: Vec<_> = entries.iter().map(|entry| writer.add(entry.clone())).collect();
    assert_eq!(positions, (1..=100).collect::<Vec<_>>());
    writer.written(100).await.unwrap();
    assert_eq!(trail.rows(), entries);
    // Rows that no call waits for are written as well, and the end writes everything.
    writer.add(changed("last"));
    assert!(writer.close(TIMEOUT));
    assert_eq!(trail.rows().last(), Some(&changed("last")));
    // Old rows are removed after the first write, and then once an hour.
    assert_eq!(*trail.pruned.lock().unwrap(), [MAX_AGE]);
    assert_eq!(writer.written(102).await, Err(AuditError::Closed));
}

#[tokio::test]
async fn rows_that_arrive_during_a_write_share_a_commit() {
    let (trail, writer) = start();
    let gate = trail.gate.lock().unwrap();
    // Each of these waits; the thread has taken at most some of them.
    let added: Vec<_> = (0..500).map(|it| writer.add(changed(&it.to_string()))).collect();
    let last = *added.last().unwrap();
    let mut wait = Box::pin(writer.written(last));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(matches!(wait.as_mut().poll(context), Poll::Pending));
    drop(gate);
    wait.await.unwrap();
    let commits = trail.commits.lock().unwrap().len();
    assert!(commits <= 3, "{commits}");
}

#[tokio::test]
async fn while_the_trail_cannot_be_written_calls_are_refused_and_no_row_is_lost() {
    let (trail, writer) = start();
    writer.room().await.unwrap();
    trail.is_full.store(true, Ordering::SeqCst);
    let position = writer.add(changed("decided"));
    let error = writer.written(position).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the audit trail cannot be written: the store is not used: the disk is full"
    );
    assert_eq!(writer.room().await, Err(error));
    assert!(!writer.has_room());
    writer.add(changed("never sent"));
    trail.is_full.store(false, Ordering::SeqCst);
    let mut progress = writer.shared.progress.subscribe();
    let recovered = progress.wait_for(|progress| progress.written == 2);
    tokio::time::timeout(TIMEOUT, recovered).await.unwrap().unwrap();
    writer.room().await.unwrap();
    assert_eq!(trail.rows(), [changed("decided"), changed("never sent")]);
}

#[tokio::test]
async fn calls_wait_while_too_much_is_unwritten() {
    let (trail, writer) = start();
    let gate = trail.gate.lock().unwrap();
    let text = "x".repeat(MAX_ARGUMENT_BYTES);
    let needed = MAX_UNWRITTEN_BYTES / MAX_ARGUMENT_BYTES + 1;
    (0..needed).for_each(|_| _ = writer.add(decided(&text)));
    assert!(!writer.has_room());
    let mut wait = Box::pin(writer.room());
    let context = &mut Context::from_waker(Waker::noop());
    assert!(matches!(wait.as_mut().poll(context), Poll::Pending));
    drop(gate);
    wait.await.unwrap();
    assert!(writer.close(TIMEOUT));
    assert_eq!(trail.rows().len(), needed);
    assert_eq!(writer.shared.unwritten_bytes.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_full_disk() {
    let (trail, writer) = start();
    trail.is_full.store(true, Ordering::SeqCst);
    let position = writer.add(changed("lost"));
    assert!(writer.close(TIMEOUT));
    assert!(writer.written(position).await.is_err());
    assert_eq!(trail.rows(), []);
}

#[tokio::test]
async fn secrets_are_removed_even_from_texts_that_were_cut() {
    let (trail, writer) = start();
    writer.add_secrets(Redactor::new(["later-secret"]));
    writer.add(decided(r#"{"a":"hunter2-hunter2","b":"later-secret"}"#));
    let position = writer.add(decided(r#"{"a":"hunter2-hunt…"#));
    writer.written(position).await.unwrap();
    let texts = trail.rows().into_iter().filter_map(|entry| match entry.event {
        AuditEvent::Decided { arguments, .. } => arguments.text,
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    assert_eq!(texts, [r#"{"a":"[redacted]","b":"[redacted]"}"#, r#"{"a":"[redacted]…"#]);
}
