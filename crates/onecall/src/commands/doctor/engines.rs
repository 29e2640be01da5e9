//! Checks every engine: tests its sandbox, then runs a small program as any program is run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::Config;
use onecall_core::{EngineChoice, Failure, Language, Program};
use onecall_engine::{ENGINES, EngineError, EngineSpec, Engines, SandboxReport};
use onecall_runtime::{NoopObserver, Runtime};

use super::finding::{Finding, ReportSection, Verdict};
use super::scratch;
use crate::commands::exec::NoTools;

/// The timeout for the small program.
pub(super) const PROGRAM_TIMEOUT: Duration = Duration::from_secs(20);

const PYTHON: &str = "\
import platform, sys
print('hello from', platform.python_implementation(), platform.python_version())
print(sys.prefix if platform.python_implementation() == 'CPython' else '')";

const TYPESCRIPT: &str = "const greeting: string = 'hello from TypeScript'; console.log(greeting)";

/// An engine, and the result of its sandbox test.
pub(super) struct TestedEngine {
    pub(super) engine: &'static EngineSpec,
    pub(super) sandbox_report: Result<SandboxReport, EngineError>,
    /// How long the test took, including the start of the engine.
    pub(super) took: Duration,
}

impl TestedEngine {
    /// The name of the engine.
    pub(super) fn title(&self) -> &'static str {
        self.engine.name.name()
    }

    /// A program for the engine, in the first of its languages.
    pub(super) fn program(&self, code: impl Fn(Language) -> &'static str) -> Program {
        let language = self.engine.languages.first().copied().unwrap_or_default();
        Program {
            language,
            engine: Some(EngineChoice::Only(self.engine.name)),
            timeout: Some(PROGRAM_TIMEOUT),
            ..Program::new(code(language))
        }
    }

    /// Whether the engine exists: one whose interpreter is not installed cannot be tested.
    pub(super) fn is_installed(&self) -> bool {
        !matches!(self.sandbox_report, Err(EngineError::NoInterpreter { .. }))
    }

    /// How serious it is if this engine cannot run programs: the system's interpreter may be
    /// missing unless the configuration requires it.
    pub(super) fn severity_if_missing(&self, config: &Config) -> Verdict {
        let is_wanted = self.engine.is_built_in()
            || config.python.is_some()
            || config.engine == EngineChoice::Only(self.engine.name);
        if is_wanted { Verdict::Red } else { Verdict::Yellow }
    }
}

/// Starts the engines one after the other, so that none slows another one down.
pub(super) async fn test(engines: &Engines) -> Vec<TestedEngine> {
    let mut tested = Vec::new();
    for engine in engines.all() {
        let started = Instant::now();
        let sandbox_report = engine.test_sandbox().await;
        tested.push(TestedEngine { engine: engine.spec, sandbox_report, took: started.elapsed() });
    }
    tested
}

/// Runs the programs. They are not recorded.
pub(super) async fn check(
    engines: Arc<Engines>,
    tested: &[TestedEngine],
    config: &Config,
) -> ReportSection {
    let runtime = Runtime::new(engines, Arc::new(NoTools), config.execution.clone());
    let mut findings = Vec::new();
    for engine in tested {
        let finding = match &engine.sandbox_report {
            Err(error) => cannot_run(engine, error, config),
            Ok(_) => run_hello(engine, &runtime).await,
        };
        findings.push(finding.fact("is_default", is_default(engine.engine, config)));
    }
    findings.extend(scratch::check(&runtime, tested, config).await);
    ReportSection { name: "engines", findings }
}

/// Whether this engine is the default for programs that name none.
fn is_default(engine: &EngineSpec, config: &Config) -> bool {
    let first = ENGINES.iter().find(|it| it.runs(Language::default())).map(|it| it.name);
    match config.engine {
        EngineChoice::Auto => Some(engine.name) == first,
        EngineChoice::Only(name) => engine.name == name,
    }
}

fn cannot_run(engine: &TestedEngine, error: &EngineError, config: &Config) -> Finding {
    let verdict = engine.severity_if_missing(config);
    let finding = if engine.is_installed() {
        Finding::from_message(verdict, engine.title(), "cannot run programs: see the sandbox above")
    } else {
        Finding::from_message(verdict, engine.title(), &error.to_string())
    };
    match verdict {
        Verdict::Red => finding,
        _ => finding.note("programs run on the embedded Python alone, without packages"),
    }
}

async fn run_hello(engine: &TestedEngine, runtime: &Runtime) -> Finding {
    let program = engine.program(|language| match language {
        Language::Python => PYTHON,
        Language::TypeScript => TYPESCRIPT,
    });
    let started = Instant::now();
    let outcome = runtime.run(&program, &NoopObserver).await;
    let took = started.elapsed();
    if let Err(failure) = outcome.result {
        let reason = match failure {
            Failure::EngineUnavailable { reason, .. } => reason,
            other => other.to_string(),
        };
        return Finding::from_message(Verdict::Red, engine.title(), &reason).took(took);
    }
    let mut output = outcome.stdout.text.lines();
    let greeting = output.next().unwrap_or_default().to_owned();
    if !greeting.starts_with("hello from ") {
        return Finding::red(engine.title(), "a program ran, but its output did not arrive")
            .took(took);
    }
    let version = greeting.trim_start_matches("hello from ").to_owned();
    let prefix = output.next().filter(|path| !path.is_empty());
    let summary = match prefix {
        Some(path) => format!("{greeting} in {path}"),
        None => greeting,
    };
    Finding::green(engine.title(), summary)
        .took(took)
        .fact("version", version)
        .fact("prefix", prefix)
}
