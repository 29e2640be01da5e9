//! Several processes around one server and one store.

use std::path::Path;

use onecall_core::Timestamp;
use onecall_core::storage::{AnswerStore, StoredAnswer};
use tempfile::TempDir;

use super::*;

/// What one process has: a cache of its own around the same server and clock as others.
struct Process {
    cache: Cache,
    writer: Arc<StoreWriter>,
    accounts: Arc<Accounts>,
    server: Arc<Server>,
}

struct Machine {
    folder: TempDir,
    server: Arc<Server>,
    clock: Arc<StoppedClock>,
}

impl Machine {
    fn new(server: Server) -> Self {
        let clock = Arc::new(StoppedClock::default());
        clock.set(1_000_000);
        let folder = tempfile::tempdir().unwrap();
        Self { folder, server: Arc::new(server), clock }
    }

    fn process(&self) -> Process {
        self.process_with(CacheSettings::default())
    }

    fn process_with(&self, config: CacheSettings) -> Process {
        let writer = Arc::new(StoreWriter::start(open(self.folder.path())));
        let config = CacheSettings { scope: CacheScope::Shared, ..config };
        let accounts = Arc::<Accounts>::default();
        let cache = Cache::new(config, Some(Arc::clone(&writer)), accounts.clone());
        let cache = Cache { clock: self.clock.clone(), ..cache };
        Process { cache, writer, accounts, server: Arc::clone(&self.server) }
    }

    /// A clock that stands still takes a change for one of the same moment.
    fn later(&self) {
        let now = *self.clock.0.lock().unwrap();
        self.clock.set(now.as_secs() + 1);
    }
}

fn open(folder: &Path) -> Arc<dyn onecall_core::storage::Store> {
    onecall_store::open(folder.join("onecall.db"))
}

impl Process {
    fn program(&self) -> Arc<Program> {
        let server = Arc::clone(&self.server);
        Arc::new(Program { cached: self.cache.around(server.clone()), server })
    }

    async fn ask(&self, name: &str) -> String {
        ask(&self.program(), name, "{}").await
    }
}

#[tokio::test]
async fn processes_share_what_they_were_told() {
    let machine = Machine::new(Server::default());
    let (one, other) = (machine.process(), machine.process());
    assert_eq!(one.ask("s__read_a").await, "1");
    assert_eq!(one.ask("s__read_a").await, "1");
    assert_eq!(other.ask("s__read_a").await, "1");
    assert_eq!(other.ask("s__read_b").await, "2");
    let stats = one.program().stats().await;
    assert_eq!((stats.scope, stats.hits, stats.misses, stats.entries), ("shared", 1, 1, 2));
    drop((one, other));
    let later = machine.process();
    assert_eq!(later.ask("s__read_a").await, "1");
    machine.clock.set(1_000_300);
    assert_eq!(later.ask("s__read_a").await, "3");
}

#[tokio::test]
async fn a_change_of_one_process_counts_for_all() {
    let machine = Machine::new(Server::default());
    let (one, other) = (machine.process(), machine.process());
    assert_eq!(one.ask("s__read_a").await, "1");
    assert_eq!(one.ask("t__read_a").await, "2");
    assert_eq!(other.ask("s__write").await, "3");
    machine.later();
    assert_eq!(one.ask("s__read_a").await, "4");
    assert_eq!(other.ask("s__read_a").await, "4");
    assert_eq!(other.ask("t__read_a").await, "2");
}

#[tokio::test]
async fn what_was_asked_before_a_change_of_another_process_is_not_kept() {
    let machine = Machine::new(Server { holds_reading_only: true, ..Server::holding() });
    let (one, other) = (machine.process(), machine.process());
    let program = one.program();
    let before = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    machine.server.call_arrived.notified().await;
    machine.later();
    assert_eq!(other.ask("s__write").await, "2");
    machine.later();
    machine.server.release_calls(1);
    assert_eq!(before.await.unwrap(), "1");
    machine.server.release_calls(1);
    assert_eq!(one.ask("s__read_a").await, "3");
    assert_eq!(other.ask("s__read_a").await, "3");
}

#[tokio::test]
async fn another_account_sees_nothing_of_it() {
    let machine = Machine::new(Server::default());
    let (one, other) = (machine.process(), machine.process());
    assert_eq!(one.ask("s__read_a").await, "1");
    other.accounts.set(Some(1));
    assert_eq!(other.ask("s__read_a").await, "2");
    assert_eq!(one.ask("s__read_a").await, "1");
}

#[tokio::test]
async fn a_tool_that_has_changed_answers_for_itself() {
    let machine = Machine::new(Server::default());
    let one = machine.process();
    assert_eq!(one.ask("s__read_a").await, "1");
    *machine.server.description.lock().unwrap() = "something else";
    assert_eq!(one.ask("s__read_a").await, "2");
}

#[tokio::test]
async fn a_fresh_answer_is_fresh_for_all() {
    let machine = Machine::new(Server::default());
    let (one, other) = (machine.process(), machine.process());
    assert_eq!(one.ask("s__read_a").await, "1");
    assert_eq!(fresh(&other.program(), "s__read_a").await, "2");
    assert_eq!(one.ask("s__read_a").await, "2");
    assert_eq!(one.program().clear(&ToolPattern::parse("mcp__s__*").unwrap()).await, 1);
    assert_eq!(other.ask("s__read_a").await, "3");
}

#[tokio::test]
async fn a_shorter_time_here_than_there_counts() {
    let machine = Machine::new(Server::default());
    assert_eq!(machine.process().ask("s__read_a").await, "1");
    machine.clock.set(1_000_020);
    let ttl = Duration::from_secs(10);
    let hasty = machine.process_with(CacheSettings { ttl, ..CacheSettings::default() });
    assert_eq!(hasty.ask("s__read_a").await, "2");
}

#[tokio::test]
async fn answers_that_were_tampered_with_are_asked_for_again() {
    let machine = Machine::new(Server::default());
    let one = machine.process();
    let program = one.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    let call = call_of("s__read_a", "{}");
    let spec = program.server.resolve(&call.name).target(&call.name).unwrap();
    let hash = program.key(&spec, &call).unwrap().hash(&spec);
    // From the future, and for ever.
    let value = ToolValue::Text("poison".to_owned());
    let (stored_at, expires_at) = (Timestamp(i64::MAX - 1), Timestamp(i64::MAX));
    let poison = StoredAnswer { value, stored_at, expires_at };
    let store = one.writer.store();
    AnswerStore::put_answer(store.as_ref(), &hash, "s", "mcp__s__read_a", &poison).unwrap();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "2");
    // From the beginning of time, and for ever: older than anything may be here.
    let value = ToolValue::Text("poison".to_owned());
    let poison = StoredAnswer { value, stored_at: Timestamp(0), expires_at };
    AnswerStore::put_answer(store.as_ref(), &hash, "s", "mcp__s__read_a", &poison).unwrap();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "3");
}

/// Answers in memory are copies from the store, used only while the store is unchanged.
#[tokio::test]
async fn what_is_at_hand_is_what_the_store_says() {
    let machine = Machine::new(Server::default());
    let (one, other) = (machine.process(), machine.process());
    let program = one.program();
    let call = call_of("s__read_a", "{}");
    let spec = program.server.resolve(&call.name).target(&call.name).unwrap();
    let get_in_memory = || {
        let key = program.key(&spec, &call).unwrap();
        let (storage, now) = (&program.state.storage, machine.clock.now());
        storage
            .get_in_memory(&key, &spec, now, Duration::from_secs(300))
            .map(|value| text(Ok(Answer::cached(value))))
    };
    let assert_answer =
        async |expected: &str| assert_eq!(ask(&program, "s__read_a", "{}").await, expected);

    assert_answer("1").await;
    assert_eq!(get_in_memory(), None);
    assert_answer("1").await;
    assert_eq!(get_in_memory().as_deref(), Some("1"));
    assert_eq!(get_in_memory().as_deref(), Some("1"));
    // Another process has written to the store, if only the answer of another tool.
    assert_eq!(other.ask("s__read_b").await, "2");
    assert_eq!(get_in_memory(), None);
    assert_answer("1").await;
    assert_eq!(get_in_memory().as_deref(), Some("1"));
    // Another process has called a tool that may change something.
    assert_eq!(other.ask("s__write").await, "3");
    assert_eq!(get_in_memory(), None);
    machine.later();
    assert_answer("4").await;
    assert_answer("4").await;
    assert_eq!(get_in_memory().as_deref(), Some("4"));
    machine.clock.set(1_000_302);
    assert_eq!(get_in_memory(), None);
}

#[tokio::test]
async fn a_store_that_cannot_be_used_stops_nobody() {
    let machine = Machine::new(Server::default());
    std::fs::create_dir(machine.folder.path().join("onecall.db")).unwrap();
    let one = machine.process();
    assert_eq!(one.ask("s__read_a").await, "1");
    assert_eq!(one.ask("s__write").await, "2");
    assert_eq!(one.ask("s__read_a").await, "3");
    assert_eq!(one.program().stats().await.entries, 0);
}

#[tokio::test]
async fn too_much_is_given_up() {
    let machine = Machine::new(Server { length: 9_000, ..Server::default() });
    let config = CacheSettings { max_bytes: 100_000, ..CacheSettings::default() };
    let one = machine.process_with(config);
    let program = one.program();
    for number in 0..30 {
        machine.later();
        ask(&program, "s__read_a", &format!(r#"{{"n":{number}}}"#)).await;
    }
    assert!(one.writer.close(Duration::from_secs(60)));
    let stats = program.stats().await;
    assert!((1..=12).contains(&stats.entries) && stats.bytes <= 110_000, "{stats:?}");
}
