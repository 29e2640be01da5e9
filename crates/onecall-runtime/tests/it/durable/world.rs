//! Tools that count their effects, and a gateway that runs programs with them, in one process or in
//! one after another.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecall_core::storage::{DurableRun, DurableState, Journals as _};
use onecall_core::{
    Answer, AnswerForm, AskPolicy, BoxFuture, CallHandler, CallResult, CallableName, Freshness,
    JournalEvent, Outcome, Principal, Program, Resolution, ResolutionFuture, ResolvedCall, RunId,
    RunKind, RunLimits, ServerName, Timestamp, ToolAnnotations, ToolError, ToolName, ToolPattern,
    ToolResolver, ToolSpec, ToolValue,
};
use onecall_engine::{EngineSettings, Engines};
use onecall_runtime::{
    Journal, JournalWriter, NoopObserver, PlanAnswer, PlanFailure, PlanLookup, PlanRequest,
    RunOptions, Runtime, SingleCall, check_plan, stack,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use testkit::bins;
use tokio::sync::watch;

use super::desk::Desk;
use super::store::MemoryStore;

/// The tools, and what they did.
pub struct Tools {
    /// The arguments of each effect, in their order.
    effects: Mutex<Vec<Value>>,
    /// How many read-only calls were made.
    reads: Mutex<usize>,
    /// Whether calls of `slow` are answered.
    pub gate: watch::Sender<bool>,
    /// How many calls wait at the gate.
    pub at_gate: watch::Sender<usize>,
    /// The description of all tools.
    pub description: Mutex<&'static str>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            effects: Mutex::default(),
            reads: Mutex::default(),
            gate: watch::Sender::new(true),
            at_gate: watch::Sender::new(0),
            description: Mutex::new("A tool"),
        }
    }
}

impl Tools {
    pub fn effects(&self) -> Vec<Value> {
        self.effects.lock().unwrap().clone()
    }

    /// Tools that have had these effects before.
    pub fn after(effects: Vec<Value>) -> Self {
        Self { effects: Mutex::new(effects), ..Self::default() }
    }

    pub fn reads(&self) -> usize {
        *self.reads.lock().unwrap()
    }

    fn spec(&self, name: &CallableName) -> Option<Arc<ToolSpec>> {
        let hints = |read_only, idempotent| ToolAnnotations {
            read_only_hint: Some(read_only),
            idempotent_hint: Some(idempotent),
            ..ToolAnnotations::default()
        };
        let tool = name.as_str().strip_prefix("mcp__s__")?;
        let annotations = match tool {
            "read" | "slow_read" => hints(true, false),
            "put" => hints(false, true),
            "delete" | "slow_delete" | "pay" | "slow_pay" => hints(false, false),
            _ => return None,
        };
        let properties = json!({ "id": { "type": "integer" }, "of": {} });
        Some(Arc::new(ToolSpec {
            callable: name.clone(),
            server: ServerName::new("s"),
            tool: ToolName::new(tool),
            description: Some((*self.description.lock().unwrap()).into()),
            input_schema: json!({ "type": "object", "properties": properties }).into(),
            output_schema: None,
            annotations,
        }))
    }
}

impl ToolResolver for Tools {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(match self.spec(name) {
            Some(spec) => Resolution::Callable(spec),
            None => Resolution::unknown(Vec::new()),
        })
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for Tools {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
            let spec = call.tool.clone()?;
            let is_slow = spec.tool.as_str().starts_with("slow");
            match spec.annotations.read_only_hint {
                Some(true) => *self.reads.lock().unwrap() += 1,
                _ => self.effects.lock().unwrap().push(arguments["id"].clone()),
            }
            if is_slow {
                self.at_gate.send_modify(|count| *count += 1);
                _ = self.gate.subscribe().wait_for(|open| *open).await;
            }
            if arguments["id"] == 13 {
                return Err(ToolError::failed(&call.name, "thirteen"));
            }
            let value = json!({ "id": arguments["id"], "tool": spec.tool.as_str() });
            let value = match call.form {
                AnswerForm::Value => value,
                _ => json!({ "content": [{ "type": "text", "text": value.to_string() }] }),
            };
            Ok(Answer::live(ToolValue::Json(to_raw_value(&value).unwrap())))
        })
    }
}

/// One gateway process.
pub struct Process {
    pub runtime: Runtime,
    pub tools: Arc<Tools>,
    pub desk: Arc<Desk>,
    pub store: Arc<MemoryStore>,
    pub journal: Arc<Journal>,
    pub engines: Arc<Engines>,
}

pub fn run_id() -> RunId {
    RunId::from_existing("run1")
}

pub fn durable_run() -> DurableRun {
    DurableRun {
        id: run_id(),
        kind: "program".to_owned(),
        principal: Principal::local(),
        client: String::new(),
        started: Timestamp(5),
        request: String::new(),
        configuration: String::new(),
        seed: [7; 32],
        state: DurableState::Running,
        in_place: None,
        lease: None,
        resumed: 0,
        interruptions: 0,
    }
}

pub fn asks_before_delete() -> AskPolicy {
    AskPolicy { patterns: vec![ToolPattern::parse("*delete*").unwrap()], hints: Vec::new() }
}

impl Process {
    /// A process that begins the run.
    pub fn new(desk: Desk) -> Self {
        Self::with(Arc::default(), Arc::new(desk), MemoryStore::default())
    }

    /// A process that continues the run from these events.
    pub fn with(tools: Arc<Tools>, desk: Arc<Desk>, store: MemoryStore) -> Self {
        let engines = Engines::new(EngineSettings::new(bins::find("onecall")));
        Self::on(Arc::new(engines), tools, desk, store)
    }

    /// A process that continues the run from these events, on engines that are warm.
    pub fn on(
        engines: Arc<Engines>,
        tools: Arc<Tools>,
        desk: Arc<Desk>,
        store: MemoryStore,
    ) -> Self {
        let limits = RunLimits { max_parallel_calls: 1, ..RunLimits::default() };
        let layers = stack::plan_server_layers(tools.clone());
        let runtime = Runtime::layered(engines.clone(), tools.clone(), layers, limits)
            .with_approvals(asks_before_delete(), desk.clone());
        let store = Arc::new(store);
        let stored = store.journal(&run_id()).unwrap();
        let writer = JournalWriter::start(store.clone());
        let journal = Journal::resume(&durable_run(), 1, stored, writer);
        Self { runtime, tools, desk, store, journal, engines }
    }

    /// The next process, after this one was killed with what the store has.
    pub async fn killed(self) -> Self {
        // What the process has not written is lost; what it was about to write may be there.
        _ = self.journal.sync().await;
        let events = self.store.events().clone();
        Self::on(self.engines, self.tools, self.desk, MemoryStore::with(&events))
    }

    pub fn load(&self) -> onecall_engine::Load {
        self.engines.load()
    }

    pub fn options(&self) -> RunOptions {
        RunOptions::journalled(Arc::clone(&self.journal))
    }

    pub async fn run(&self, program: &Program) -> Outcome {
        let options = self.options();
        let run = self.runtime.run_with(program, &options, &NoopObserver);
        tokio::time::timeout(Duration::from_secs(60), run).await.expect("the run ends")
    }

    pub async fn call(&self, name: &str, arguments: &Value) -> CallResult {
        let call = SingleCall {
            kind: RunKind::DirectCall,
            name: &CallableName::new(name),
            arguments: raw(arguments),
            form: AnswerForm::Value,
            freshness: Freshness::Any,
        };
        self.runtime.run_call(call, &self.options(), &NoopObserver).await
    }

    pub async fn plan(&self, request: &Value) -> Result<PlanAnswer, PlanFailure> {
        let lookup = |name: &str| match self.tools.spec(&CallableName::new(name)) {
            Some(spec) => PlanLookup::Tool(spec),
            None => PlanLookup::Unknown { nearest: Vec::new() },
        };
        let plan = check_plan(PlanRequest::read(request.as_object().unwrap()), &lookup).unwrap();
        self.runtime.run_plan(&plan, &*self.tools, &self.options(), &NoopObserver).await
    }

    /// The events of the journal, each in a word.
    pub async fn journal_words(&self) -> Vec<String> {
        self.journal.sync().await.unwrap();
        self.store.events().iter().map(word).collect()
    }

    pub fn break_store(&self) {
        self.store.is_full.store(true, Ordering::SeqCst);
    }
}

pub fn word(event: &JournalEvent) -> String {
    match event {
        JournalEvent::Engine(engine) => format!("on {}", engine.name.name()),
        JournalEvent::Called(call) => format!("called {}", call.id),
        JournalEvent::Sent { call } => format!("sent {call}"),
        JournalEvent::Ended { call, .. } => format!("ended {call}"),
        JournalEvent::Cancelled { call } => format!("cancelled {call}"),
        JournalEvent::Observed { .. } => "observed".to_owned(),
    }
}

pub fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}
