//! The layer around a host that counts, with a clock that stands still until it is set.

mod disk;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use onecall_core::{
    AnswerForm, AnswerOrigin, CallableName, CallerCapabilities, ClientId, LogIndex, Principal,
    Resolution, RunId, RunKind, ServerQuestion, ServerQuestionKind, ToolAnnotations, ToolError,
    ToolName, ToolValue,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, Semaphore};

use super::*;

/// Its tools are `read_…`, which say they are read-only, and others. Each answers with the
/// number of its call, after it was let go where `hold` says so.
#[derive(Default)]
struct Server {
    calls: AtomicUsize,
    blocked: Mutex<Vec<&'static str>>,
    /// What its tools are described as.
    description: Mutex<&'static str>,
    /// Answers of this length.
    length: usize,
    fails: bool,
    asks: bool,
    hold: Option<Semaphore>,
    /// Lets go of everything but `read_…` by itself.
    holds_reading_only: bool,
    /// Notified when a call has arrived.
    call_arrived: Notify,
    cancelled: AtomicUsize,
}

impl Server {
    fn holding() -> Self {
        Self { hold: Some(Semaphore::new(0)), ..Self::default() }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn release_calls(&self, calls: usize) {
        self.hold.as_ref().unwrap().add_permits(calls);
    }
}

/// Counts a call that was not made to its end.
struct CancellationCounter<'a>(Option<&'a AtomicUsize>);

impl Drop for CancellationCounter<'_> {
    fn drop(&mut self) {
        if let Some(cancelled) = self.0 {
            cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Server {
    /// What a name means now.
    fn resolve(&self, name: &CallableName) -> Resolution {
        if self.blocked.lock().unwrap().contains(&name.as_str()) {
            return Resolution::Blocked;
        }
        let parts: Vec<&str> = name.as_str().split("__").collect();
        let is_read_only = parts[2].starts_with("read_");
        Resolution::Callable(Arc::new(ToolSpec {
            callable: name.clone(),
            server: ServerName::new(parts[1]),
            tool: ToolName::new(parts[2]),
            description: Some((*self.description.lock().unwrap()).into()),
            input_schema: json!({}).into(),
            output_schema: None,
            annotations: ToolAnnotations {
                read_only_hint: is_read_only.then_some(true),
                ..ToolAnnotations::default()
            },
        }))
    }
}

impl CallHandler for Server {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
            self.call_arrived.notify_one();
            let mut counter = CancellationCounter(Some(&self.cancelled));
            if let (true, Some(caller)) = (self.asks, &call.run.caller) {
                let (server, params) = (ServerName::new("s"), RawValue::NULL.to_owned());
                let question =
                    ServerQuestion { server, kind: ServerQuestionKind::Elicitation, params };
                let _ = caller.ask(question).await;
            }
            let is_held = !self.holds_reading_only || call.name.as_str().contains("__read_");
            if let Some(hold) = self.hold.as_ref().filter(|_| is_held) {
                hold.acquire().await.unwrap().forget();
            }
            counter.0 = None;
            if self.fails {
                return Err(ToolError::failed(&call.name, format!("no {number}")));
            }
            Ok(Answer::live(ToolValue::Text(format!("{number:0width$}", width = self.length))))
        })
    }
}

/// The layers of one program: a decision, then the cache.
struct Program {
    server: Arc<Server>,
    cached: CacheLayer,
}

impl Program {
    /// Makes a call of what its name means now.
    async fn call(&self, call: ResolvedCall) -> CallResult {
        let tool = self.server.resolve(&call.name).target(&call.name);
        match &tool {
            Ok(_) => self.cached.call(ResolvedCall { tool, ..call }).await,
            Err(error) => Err(error.clone()),
        }
    }
}

impl Deref for Program {
    type Target = CacheLayer;

    fn deref(&self) -> &CacheLayer {
        &self.cached
    }
}

#[derive(Default)]
struct StoppedClock(Mutex<Duration>);

impl StoppedClock {
    fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = Duration::from_secs(seconds);
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + *self.0.lock().unwrap()
    }
}

/// The account that every server is used with; answers are not kept without one.
struct Accounts(Mutex<Option<u8>>);

impl Default for Accounts {
    fn default() -> Self {
        Self(Mutex::new(Some(0)))
    }
}

impl Accounts {
    fn set(&self, account: Option<u8>) {
        *self.0.lock().unwrap() = account;
    }
}

impl ServerIdentities for Accounts {
    fn identity(&self, _server: &ServerName, _user: &UserName) -> Option<[u8; 32]> {
        self.0.lock().unwrap().map(|account| [account; 32])
    }
}

/// A server behind a cache.
struct CacheSetup {
    server: Arc<Server>,
    clock: Arc<StoppedClock>,
    accounts: Arc<Accounts>,
    cache: Cache,
}

impl CacheSetup {
    fn new(server: Server) -> Self {
        Self::with(server, CacheSettings::default())
    }

    fn with(server: Server, config: CacheSettings) -> Self {
        let clock = Arc::new(StoppedClock::default());
        clock.set(1_000_000);
        let accounts = Arc::<Accounts>::default();
        let cache = Cache { clock: clock.clone(), ..Cache::new(config, None, accounts.clone()) };
        Self { server: Arc::new(server), clock, accounts, cache }
    }

    /// The layer of another program.
    fn program(&self) -> Arc<Program> {
        let server = Arc::clone(&self.server);
        Arc::new(Program { cached: self.cache.around(server.clone()), server })
    }
}

/// A call that is resolved when it is made.
fn call_of(name: &str, arguments: &str) -> ResolvedCall {
    let name = CallableName::new(format!("mcp__{name}"));
    ResolvedCall {
        id: 1,
        tool: Err(ToolError::NotAvailable { name: name.clone() }),
        name,
        revision: 0,
        arguments: RawValue::from_string(arguments.to_owned()).unwrap(),
        form: AnswerForm::Value,
        freshness: Freshness::Any,
        site: None,
        run: run(None),
        log_index: LogIndex::default(),
    }
}

fn run(caller: Option<Arc<Caller>>) -> Arc<RunContext> {
    Arc::new(RunContext {
        id: RunId::from_existing("run"),
        kind: RunKind::Program,
        principal: Arc::new(Principal::local()),
        client: String::new(),
        program: None,
        language: onecall_core::Language::Python,
        caller,
    })
}

fn text(result: CallResult) -> String {
    match result.map(|answer| answer.value) {
        Ok(ToolValue::Text(text)) => text,
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    }
}

async fn ask(program: &Program, name: &str, arguments: &str) -> String {
    text(program.call(call_of(name, arguments)).await)
}

async fn fresh(program: &Program, name: &str) -> String {
    let call = ResolvedCall { freshness: Freshness::New, ..call_of(name, "{}") };
    text(program.call(call).await)
}

#[tokio::test]
async fn the_same_question_is_asked_once() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", r#"{"x":1,"y":{"b":2,"a":[]}}"#).await, "1");
    assert_eq!(ask(&program, "s__read_a", r#"{ "y":{"a":[],"b":2}, "x":1 }"#).await, "1");
    assert_eq!(ask(&setup.program(), "s__read_a", r#"{"y":{"a":[],"b":2},"x":1}"#).await, "1");
    let others = [
        ("s__read_a", r#"{"x":1.0,"y":{"b":2,"a":[]}}"#),
        ("s__read_a", "{}"),
        ("s__read_b", "{}"),
        ("t__read_b", "{}"),
    ];
    for (number, (name, arguments)) in others.into_iter().enumerate() {
        assert_eq!(ask(&program, name, arguments).await, (number + 2).to_string());
    }
    let whole = ResolvedCall { form: AnswerForm::Whole, ..call_of("s__read_b", "{}") };
    assert_eq!(text(program.call(whole).await), "6");
    let stats = program.stats().await;
    assert_eq!((stats.hits, stats.misses, stats.entries, stats.scope), (2, 6, 6, "process"));
}

#[tokio::test]
async fn integers_that_no_float_tells_apart_are_different_questions() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    for (number, arguments) in
        [r#"{"n":100000000000000000000001}"#, r#"{"n":100000000000000000000002}"#]
            .into_iter()
            .enumerate()
    {
        assert_eq!(ask(&program, "s__read_a", arguments).await, (number + 1).to_string());
    }
}

#[tokio::test]
async fn an_answer_expires_when_its_time_is_over() {
    let brief = (ToolPattern::parse("*_brief").unwrap(), Duration::from_secs(10));
    let config = CacheSettings { ttls: vec![brief], ..CacheSettings::default() };
    let setup = CacheSetup::with(Server::default(), config);
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    assert_eq!(ask(&program, "s__read_brief", "{}").await, "2");
    setup.clock.set(1_000_009);
    assert_eq!(ask(&program, "s__read_brief", "{}").await, "2");
    setup.clock.set(1_000_010);
    assert_eq!(ask(&program, "s__read_brief", "{}").await, "3");
    setup.clock.set(1_000_299);
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    setup.clock.set(1_000_300);
    assert_eq!(ask(&program, "s__read_a", "{}").await, "4");
    // The clock was set back, so the age of the answer is unknown.
    setup.clock.set(1_000_000);
    assert_eq!(ask(&program, "s__read_a", "{}").await, "5");
}

#[tokio::test]
async fn the_oldest_answers_make_room() {
    let config = CacheSettings { max_bytes: 100_000, ..CacheSettings::default() };
    let setup = CacheSetup::with(Server { length: 9_000, ..Server::default() }, config);
    let program = setup.program();
    for number in 0..30 {
        ask(&program, "s__read_a", &format!(r#"{{"n":{number}}}"#)).await;
    }
    let stats = program.stats().await;
    assert!((5..=10).contains(&stats.entries) && stats.bytes <= 100_000, "{stats:?}");
    assert_eq!(setup.server.calls(), 30);
    ask(&program, "s__read_a", r#"{"n":29}"#).await;
    assert_eq!(setup.server.calls(), 30);
    ask(&program, "s__read_a", r#"{"n":0}"#).await;
    assert_eq!(setup.server.calls(), 31);
}

#[tokio::test]
async fn what_is_too_large_is_not_kept() {
    let config = CacheSettings { max_bytes: 100_000, ..CacheSettings::default() };
    let setup = CacheSetup::with(Server { length: 13_000, ..Server::default() }, config);
    let program = setup.program();
    for calls in 1..=2 {
        ask(&program, "s__read_a", "{}").await;
        assert_eq!(setup.server.calls(), calls);
    }
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(70_000));
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    for arguments in [&long, &deep, &long, &deep] {
        ask(&program, "s__read_a", arguments).await;
    }
    assert_eq!(setup.server.calls(), 4);
}

#[tokio::test]
async fn errors_are_not_kept() {
    let setup = CacheSetup::new(Server { fails: true, ..Server::default() });
    let program = setup.program();
    for number in 1..=2 {
        let expected = format!("'mcp__s__read_a' failed: no {number}");
        assert_eq!(ask(&program, "s__read_a", "{}").await, expected);
    }
}

#[tokio::test]
async fn a_change_ends_what_its_server_said() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    assert_eq!(ask(&program, "t__read_a", "{}").await, "2");
    assert_eq!(ask(&program, "s__write", "{}").await, "3");
    assert_eq!(ask(&program, "s__write", "{}").await, "4");
    assert_eq!(ask(&program, "s__read_a", "{}").await, "5");
    assert_eq!(ask(&program, "t__read_a", "{}").await, "2");
    assert_eq!(program.stats().await.entries, 2);
}

#[tokio::test]
async fn what_is_said_around_a_change_is_not_kept() {
    let setup = CacheSetup::new(Server::holding());
    let start = |name: &'static str| {
        let program = setup.program();
        tokio::spawn(async move { ask(&program, name, "{}").await })
    };
    // One that begins before the change, and one that begins and ends within it.
    let before = start("s__read_a");
    setup.server.call_arrived.notified().await;
    let change = start("s__write");
    setup.server.call_arrived.notified().await;
    let within = start("s__read_a");
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(3);
    let answers = [before.await.unwrap(), change.await.unwrap(), within.await.unwrap()];
    assert_eq!(answers, ["1", "2", "3"]);
    setup.server.release_calls(1);
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "4");
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "4");
}

#[tokio::test]
async fn a_change_counts_though_nobody_waits_for_its_end() {
    let setup = CacheSetup::new(Server::holding());
    let program = setup.program();
    let change = tokio::spawn(async move { ask(&program, "s__write", "{}").await });
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(0);
    let reading = setup.program();
    let read = tokio::spawn(async move { ask(&reading, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    change.abort();
    assert!(change.await.unwrap_err().is_cancelled());
    setup.server.release_calls(2);
    assert_eq!(read.await.unwrap(), "2");
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "3");
}

#[tokio::test]
async fn calls_alike_are_made_once() {
    let setup = CacheSetup::new(Server::holding());
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let program = setup.program();
            tokio::spawn(async move { ask(&program, "s__read_a", "{}").await })
        })
        .collect();
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(1);
    for call in calls {
        assert_eq!(call.await.unwrap(), "1");
    }
    let stats = setup.program().stats().await;
    assert_eq!((setup.server.calls(), stats.hits, stats.misses), (1, 19, 1));
}

#[tokio::test]
async fn an_error_reaches_everybody_who_waits() {
    let setup = CacheSetup::new(Server { fails: true, ..Server::holding() });
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let program = setup.program();
            tokio::spawn(async move { ask(&program, "s__read_a", "{}").await })
        })
        .collect();
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(1);
    for call in calls {
        assert_eq!(call.await.unwrap(), "'mcp__s__read_a' failed: no 1");
    }
}

#[tokio::test]
async fn a_call_goes_on_while_somebody_waits_for_it() {
    let setup = CacheSetup::new(Server::holding());
    let start = || {
        let program = setup.program();
        tokio::spawn(async move { ask(&program, "s__read_a", "{}").await })
    };
    let (first, second, third) = (start(), start(), start());
    setup.server.call_arrived.notified().await;
    tokio::task::yield_now().await;
    first.abort();
    third.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(third.await.unwrap_err().is_cancelled());
    setup.server.release_calls(1);
    assert_eq!(second.await.unwrap(), "1");
    assert_eq!(setup.server.calls(), 1);

    let setup = CacheSetup::new(Server::holding());
    let program = setup.program();
    let last = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    last.abort();
    assert!(last.await.unwrap_err().is_cancelled());
    assert_eq!(setup.server.cancelled.load(Ordering::SeqCst), 1);
    setup.server.release_calls(1);
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "2");
}

#[tokio::test]
async fn nobody_joins_a_call_from_before_a_change() {
    let setup = CacheSetup::new(Server::holding());
    let program = setup.program();
    let before = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    setup.cache.invalidate_servers([&ServerName::new("s")]);
    let program = setup.program();
    let after = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(2);
    assert_eq!((before.await.unwrap(), after.await.unwrap()), ("1".into(), "2".into()));
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "2");
}

#[tokio::test]
async fn a_fresh_answer_takes_the_place_of_the_kept_one() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    assert_eq!(fresh(&program, "s__read_a").await, "2");
    assert_eq!(ask(&program, "s__read_a", "{}").await, "2");

    // One that was asked earlier and answers later does not.
    let setup = CacheSetup::new(Server::holding());
    let program = setup.program();
    let early = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    let program = setup.program();
    let late = tokio::spawn(async move { fresh(&program, "s__read_a").await });
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(2);
    assert_eq!((early.await.unwrap(), late.await.unwrap()), ("1".into(), "2".into()));
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "2");
}

#[tokio::test]
async fn a_tool_that_is_blocked_meanwhile_is_not_answered_for() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    setup.server.blocked.lock().unwrap().push("mcp__s__read_a");
    let refused = "'mcp__s__read_a' is not available in execute_program";
    assert_eq!(ask(&program, "s__read_a", "{}").await, refused);
}

#[tokio::test]
async fn another_tool_of_the_same_name_answers_for_itself() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    *setup.server.description.lock().unwrap() = "something else";
    assert_eq!(ask(&program, "s__read_a", "{}").await, "2");
    assert_eq!(ask(&program, "s__read_a", "{}").await, "2");
}

#[tokio::test]
async fn another_account_has_answers_of_its_own() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    setup.accounts.set(Some(1));
    assert_eq!(ask(&program, "s__read_a", "{}").await, "2");
    setup.accounts.set(Some(0));
    assert_eq!(ask(&program, "s__read_a", "{}").await, "1");
    // Without an identity of the server, answers are not cached.
    setup.accounts.set(None);
    assert_eq!(ask(&program, "s__read_a", "{}").await, "3");
    assert_eq!(ask(&program, "s__read_a", "{}").await, "4");
}

#[tokio::test]
async fn a_program_may_have_a_cache_of_its_own() {
    let config = CacheSettings { scope: CacheScope::Run, ..CacheSettings::default() };
    let setup = CacheSetup::with(Server::default(), config);
    let (one, other) = (setup.program(), setup.program());
    assert_eq!(ask(&one, "s__read_a", "{}").await, "1");
    assert_eq!(ask(&one, "s__read_a", "{}").await, "1");
    assert_eq!(ask(&other, "s__read_a", "{}").await, "2");
    // What one changes is changed for all.
    assert_eq!(ask(&other, "s__write", "{}").await, "3");
    assert_eq!(ask(&one, "s__read_a", "{}").await, "4");
}

#[tokio::test]
async fn clearing_forgets_what_fits() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    let names = ["s__read_a", "s__read_b", "t__read_a"];
    for name in names {
        ask(&program, name, "{}").await;
    }
    let clear = async |pattern| program.clear(&ToolPattern::parse(pattern).unwrap()).await;
    assert_eq!(clear("mcp__s__*").await, 2);
    assert_eq!(clear("mcp__s__*").await, 0);
    let mut answers = HashMap::new();
    for name in names {
        answers.insert(name, ask(&program, name, "{}").await);
    }
    let expected = [("s__read_a", "4"), ("s__read_b", "5"), ("t__read_a", "3")];
    assert_eq!(answers, expected.map(|(name, answer)| (name, answer.to_owned())).into());
}

#[tokio::test]
async fn clearing_forgets_what_is_still_under_way() {
    let setup = CacheSetup::new(Server::holding());
    let program = setup.program();
    let before = tokio::spawn(async move { ask(&program, "s__read_a", "{}").await });
    setup.server.call_arrived.notified().await;
    setup.program().clear(&ToolPattern::parse("*").unwrap()).await;
    setup.server.release_calls(2);
    assert_eq!(before.await.unwrap(), "1");
    assert_eq!(ask(&setup.program(), "s__read_a", "{}").await, "2");
}

fn client() -> Arc<Caller> {
    Arc::new(Caller { capabilities: CallerCapabilities::all(), ..Caller::silent(ClientId(1)) })
}

#[tokio::test]
async fn an_answer_that_a_client_had_a_part_in_is_its_own() {
    let setup = CacheSetup::new(Server { asks: true, ..Server::holding() });
    let start = || {
        let program = setup.program();
        let call = ResolvedCall { run: run(Some(client())), ..call_of("s__read_a", "{}") };
        tokio::spawn(async move { text(program.call(call).await) })
    };
    let (first, second) = (start(), start());
    setup.server.call_arrived.notified().await;
    setup.server.release_calls(2);
    let mut answers = [first.await.unwrap(), second.await.unwrap()];
    answers.sort();
    assert_eq!(answers, ["1", "2"]);
    setup.server.release_calls(1);
    assert_eq!(start().await.unwrap(), "3");
}

#[tokio::test]
async fn an_answer_tells_where_it_comes_from() {
    let setup = CacheSetup::new(Server::default());
    let program = setup.program();
    for (arguments, origin) in [
        ("{}", AnswerOrigin::Live),
        ("{}", AnswerOrigin::Cache),
        (r#"{"n":1}"#, AnswerOrigin::Live),
        ("{}", AnswerOrigin::Cache),
    ] {
        let answer = program.call(call_of("s__read_a", arguments)).await.unwrap();
        assert_eq!(answer.origin, origin, "{arguments}");
    }
}
