//! A host that journals a run in memory, and can cut the journal off after any event and continue
//! the run from there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecall_core::{
    BoxFuture, CallSite, CallableName, ClientId, EngineChoice, Failure, InPlaceReason, Language,
    NodeCall, Program, ProgramHost, ProgramQuestion, Resolution, ResolutionFuture, RunEngine,
    RunLimits, ServerName, SessionRequest, ToolAnnotations, ToolCall, ToolError, ToolName,
    ToolSpec, ToolValue,
};
use onecall_engine::{
    EngineSettings, Engines, HeldCalls, Journalled, ObservationSink, ProgramOutput, RunControl,
    Session,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use testkit::bins;
use tokio::sync::watch;

const SEED: [u8; 32] = [7; 32];

/// How much of the text that a continued run prints is determined by its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// All of it: the program prints neither times nor what depends on them.
    Everything,
    /// What it prints before the journal is used up.
    UntilCut,
}

/// An event of a run, in the order in which the gateway sees them.
#[derive(Clone, Debug)]
pub enum Event {
    Called { id: u64, call: String, site: Option<CallSite> },
    Ended { id: u64, result: Result<ToolValue, ToolError> },
    Cancelled { id: u64 },
    Observed(Vec<u8>),
}

/// What became of a run.
#[derive(Debug)]
pub struct Run {
    pub events: Vec<Event>,
    pub stdout: String,
    /// How much had been printed when the worker had repeated all observations.
    pub printed_when_replayed: Option<usize>,
    pub failure: Option<Failure>,
    pub diverged: Option<String>,
    pub in_place: Vec<InPlaceReason>,
    /// What a correct worker does not do.
    pub problems: Vec<String>,
}

impl Run {
    pub fn sites(&self) -> Vec<CallSite> {
        let site = |event: &Event| match event {
            Event::Called { site, .. } => site.clone(),
            _ => None,
        };
        self.events.iter().filter_map(site).collect()
    }
}

/// All observations among these events.
pub fn observations(events: &[Event]) -> Vec<u8> {
    let observed = events.iter().filter_map(|event| match event {
        Event::Observed(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    observed.collect::<Vec<_>>().concat()
}

/// Runs programs in one language, with journals.
pub struct Journalist {
    engines: Engines,
    language: Language,
    engine: Option<EngineChoice>,
}

impl Journalist {
    pub fn new(language: Language, engine: Option<EngineChoice>) -> Self {
        Self::with_settings(EngineSettings::new(bins::find("onecall")), language, engine)
    }

    pub fn with_settings(
        settings: EngineSettings,
        language: Language,
        engine: Option<EngineChoice>,
    ) -> Self {
        Self { engines: Engines::new(settings), language, engine }
    }

    /// Runs a program from the beginning.
    pub async fn run(&self, code: &str) -> Run {
        self.resume(code, &[]).await
    }

    /// Continues a run whose journal consists of these events.
    pub async fn resume(&self, code: &str, before: &[Event]) -> Run {
        self.resume_with(code, before, &observations(before)).await
    }

    /// Continues a run with these observations, whatever its events say.
    pub async fn resume_with(&self, code: &str, before: &[Event], observations: &[u8]) -> Run {
        let host = Host::new(before);
        let journal = Journalled { seed: SEED, observations, sink: &host };
        self.run_on(&host, code, Some(journal)).await
    }

    /// Runs a program without a journal.
    pub async fn run_without_journal(&self, code: &str) -> Run {
        let host = Host::new(&[]);
        host.replayed.send_replace(true);
        self.run_on(&host, code, None).await
    }

    /// Runs programs in one session, each with a journal or without.
    pub async fn run_in_session(&self, programs: &[(&str, bool)]) -> Vec<Run> {
        let mut session = Session::default();
        let mut runs = Vec::new();
        for (code, has_journal) in programs {
            let host = Host::new(&[]);
            // A program of a session is not repeated, so its worker reports nothing.
            host.replayed.send_replace(true);
            let journal = Journalled { seed: SEED, observations: &[], sink: &host };
            let journal = has_journal.then_some(journal);
            let request = SessionRequest::named(ClientId(1), "name", false);
            let program = Program { session: Some(request), ..self.program(code) };
            runs.push(self.run_program(&mut session, &host, &program, journal).await);
        }
        runs
    }

    fn program(&self, code: &str) -> Program {
        Program { language: self.language, engine: self.engine, ..Program::new(code) }
    }

    async fn run_on(&self, host: &Host, code: &str, journal: Option<Journalled<'_>>) -> Run {
        self.run_program(&mut Session::default(), host, &self.program(code), journal).await
    }

    async fn run_program(
        &self,
        session: &mut Session,
        host: &Host,
        program: &Program,
        journal: Option<Journalled<'_>>,
    ) -> Run {
        let control = RunControl { held: Some(&host.held), journal, ..RunControl::default() };
        let limits = RunLimits { timeout: Duration::from_secs(60), ..RunLimits::default() };
        let mut output = Output(Arc::clone(&host.state));
        let result =
            self.engines.run_in(session, program, &limits, host, control, &mut output).await;
        let state = std::mem::take(&mut *host.state.lock().unwrap());
        Run {
            events: state.events,
            stdout: state.stdout,
            printed_when_replayed: state.printed_when_replayed,
            failure: result.err(),
            diverged: state.diverged,
            in_place: state.in_place,
            problems: state.problems,
        }
    }

    /// Runs a program, cuts its journal off after every event, continues each of these runs, and
    /// compares what they print. Returns the first run.
    pub async fn check_every_cut(&self, code: &str, repeats: Repeats) -> Run {
        let first = self.run(code).await;
        assert_eq!(first.problems, Vec::<String>::new(), "in the first run");
        assert_eq!((&first.diverged, &first.in_place), (&None, &Vec::new()));
        for length in 0..=first.events.len() {
            let run = self.resume(code, &first.events[..length]).await;
            let context = format!("cut after {length} of {:?}: {run:?}", first.events);
            assert_eq!(run.problems, Vec::<String>::new(), "{context}");
            assert_eq!((&run.diverged, &run.in_place), (&None, &Vec::new()), "{context}");
            let printed = run.printed_when_replayed.expect(&context);
            assert_eq!(first.stdout.get(..printed), run.stdout.get(..printed), "{context}");
            assert_eq!(first.failure.is_some(), run.failure.is_some(), "{context}");
            if repeats == Repeats::Everything || length == first.events.len() {
                assert_eq!(first.stdout, run.stdout, "{context}");
                let text = |run: &Run| run.failure.as_ref().map(ToString::to_string);
                assert_eq!(text(&first), text(&run), "{context}");
            }
        }
        first
    }
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    stdout: String,
    printed_when_replayed: Option<usize>,
    diverged: Option<String>,
    in_place: Vec<InPlaceReason>,
    problems: Vec<String>,
}

struct Host {
    /// The events of the journal that is continued.
    before: Vec<Event>,
    state: Arc<Mutex<State>>,
    replayed: watch::Sender<bool>,
    /// The values of calls that have ended, as JSON. Others may wait for them.
    ended: watch::Sender<BTreeSet<String>>,
    held: HeldCalls,
}

impl Host {
    fn new(before: &[Event]) -> Self {
        let state = State { events: before.to_vec(), ..State::default() };
        Self {
            before: before.to_vec(),
            state: Arc::new(Mutex::new(state)),
            replayed: watch::Sender::new(false),
            ended: watch::Sender::default(),
            held: HeldCalls::default(),
        }
    }

    fn is_replayed(&self) -> bool {
        *self.replayed.borrow()
    }

    fn problem(&self, text: String) {
        self.state.lock().unwrap().problems.push(text);
    }

    /// Answers from the journal, or does `work` as soon as the journal is used up.
    fn journalled<'a>(
        &'a self,
        id: u64,
        call: String,
        site: Option<CallSite>,
        work: BoxFuture<'a, Result<ToolValue, ToolError>>,
    ) -> BoxFuture<'a, Result<ToolValue, ToolError>> {
        let recorded = self.before.iter().find_map(|event| match event {
            Event::Called { id: other, call, site } if *other == id => Some((call, site)),
            _ => None,
        });
        match recorded {
            Some(recorded) if recorded == (&call, &site) => {}
            Some(recorded) => self.problem(format!("{recorded:?} has become {call} at {site:?}")),
            None => {
                if !self.is_replayed() {
                    self.problem(format!("a new call during the repetition: {call}"));
                }
                self.state.lock().unwrap().events.push(Event::Called { id, call, site });
            }
        }
        let ended = self.before.iter().rev().filter_map(|event| match event {
            Event::Ended { id, result } => Some((*id, result.clone())),
            _ => None,
        });
        let ended = ended.zip(0..).find(|((ended, _), _)| *ended == id);
        let is_cancelled =
            |event: &Event| matches!(event, Event::Cancelled { id: it } if *it == id);
        let is_cancelled = self.before.iter().any(is_cancelled);
        let mut unfinished = UnfinishedCall { host: self, id, is_recorded: is_cancelled };
        Box::pin(async move {
            if is_cancelled {
                // Until the program cancels it again.
                std::future::pending::<()>().await;
            }
            if let Some(((_, result), place)) = ended {
                unfinished.end();
                if let Ok(ToolValue::Json(value)) = &result {
                    let value = value.get().to_owned();
                    self.ended.send_modify(|ended| _ = ended.insert(value));
                }
                // The last one comes first, so that the worker has to put them in order.
                tokio::time::sleep(Duration::from_millis(2 * place)).await;
                return result;
            }
            _ = self.replayed.subscribe().wait_for(|replayed| *replayed).await;
            let result = work.await;
            unfinished.end();
            let event = Event::Ended { id, result: result.clone() };
            self.state.lock().unwrap().events.push(event);
            result
        })
    }
}

/// A call that the program has made. If it is dropped before its end, the program has cancelled it.
struct UnfinishedCall<'a> {
    host: &'a Host,
    id: u64,
    is_recorded: bool,
}

impl UnfinishedCall<'_> {
    fn end(&mut self) {
        self.is_recorded = true;
    }
}

impl Drop for UnfinishedCall<'_> {
    fn drop(&mut self) {
        if !self.is_recorded {
            let event = Event::Cancelled { id: self.id };
            self.host.state.lock().unwrap().events.push(event);
        }
    }
}

impl ObservationSink for Host {
    fn runs_on(&self, _engine: RunEngine) {}

    fn observed(&self, bytes: &[u8]) {
        if !self.is_replayed() {
            self.problem("an observation during the repetition".to_owned());
        }
        self.state.lock().unwrap().events.push(Event::Observed(bytes.to_vec()));
    }

    fn replayed(&self) {
        if self.replayed.send_replace(true) {
            self.problem("replayed twice".to_owned());
        }
        let mut state = self.state.lock().unwrap();
        state.printed_when_replayed = Some(state.stdout.len());
    }

    fn diverged(&self, difference: &str) {
        self.state.lock().unwrap().diverged = Some(difference.to_owned());
    }

    fn in_place_only(&self, reason: InPlaceReason) {
        self.state.lock().unwrap().in_place.push(reason);
    }
}

impl ProgramHost for Host {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        let known = ["echo", "fail", "hang", "ask_person"].contains(&name.as_str());
        ResolutionFuture::ready(match known {
            true => Resolution::Callable(Arc::new(spec(name.as_str()))),
            false => Resolution::unknown(Vec::new()),
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let ToolCall { id, name, arguments, site, .. } = call;
        let text = format!("{name}{arguments}");
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap();
        let work = Box::pin(async move {
            let delay = Duration::from_millis(arguments["delay"].as_u64().unwrap_or(0));
            // A person takes the time for the answer, not the tool.
            let _held = (name.as_str() == "ask_person").then(|| self.held.hold(id));
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let after = arguments["after"].as_array().cloned().unwrap_or_default();
            let is_next = |ended: &BTreeSet<String>| {
                after.iter().all(|value| ended.contains(&value.to_string()))
            };
            _ = self.ended.subscribe().wait_for(is_next).await;
            self.ended.send_modify(|ended| _ = ended.insert(arguments["value"].to_string()));
            match name.as_str() {
                "hang" => std::future::pending().await,
                "fail" => Err(ToolError::failed(&name, "it does not work")),
                _ => Ok(ToolValue::Json(to_raw_value(&arguments["value"]).unwrap())),
            }
        });
        self.journalled(id, text, site, work)
    }

    fn call_node(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        panic!("no plan runs here: {call:?}")
    }

    fn ask(
        &self,
        id: u64,
        question: ProgramQuestion,
    ) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let text = format!("{question:?}");
        let answer = match question {
            ProgramQuestion::Search { query, .. } => json!([{ "name": "echo", "for": query }]),
            ProgramQuestion::Find { name } => {
                json!({ "name": name, "parameters": parameters(), "documentation": "" })
            }
            ProgramQuestion::Server { .. } => {
                let tool = |name: &str| {
                    let parameters = parameters();
                    json!({ "tool": name, "name": name, "parameters": parameters, "category": "" })
                };
                let tools = ["echo", "fail"].map(tool);
                json!({ "tools": tools })
            }
            ProgramQuestion::List {} => json!(["ask_person", "echo", "fail"]),
            other => json!({ "problem": format!("{other:?}") }),
        };
        let work =
            Box::pin(std::future::ready(Ok(ToolValue::Json(to_raw_value(&answer).unwrap()))));
        self.journalled(id, text, None, work)
    }
}

fn parameters() -> Vec<&'static str> {
    vec!["value", "delay"]
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        callable: CallableName::new(name),
        server: ServerName::new("test"),
        tool: ToolName::new(name),
        description: None,
        input_schema:
            json!({ "type": "object", "properties": { "value": {}, "delay": {}, "after": {} } })
                .into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}

struct Output(Arc<Mutex<State>>);

impl ProgramOutput for Output {
    fn stdout(&mut self, bytes: &[u8]) {
        self.0.lock().unwrap().stdout.push_str(&String::from_utf8_lossy(bytes));
    }

    fn stderr(&mut self, _: &[u8]) {}

    fn show(&mut self, _: &str) {}

    fn queued(&mut self, _: usize) {}

    fn wait_for_room(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn remark(&mut self, line: String) {
        self.0.lock().unwrap().problems.push(line);
    }
}
