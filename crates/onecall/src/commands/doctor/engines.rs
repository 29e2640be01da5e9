//! Checks every engine: tests its sandbox, then runs a small program as any program is run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::Config;
use onecall_core::{EngineChoice, Failure, Language, Program};
use onecall_engine::{ENGINES, EngineError, EngineSpec, Engines, Examination};
use onecall_runtime::{Runtime, Silent};

use super::finding::{Finding, Section, Verdict};
use super::scratch;
use crate::commands::exec::Nobody;

/// The timeout for the small program.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

const PYTHON: &str = "\
import platform, sys
print('hello from', platform.python_implementation(), platform.python_version())
print(sys.prefix if platform.python_implementation() == 'CPython' else '')";

const TYPESCRIPT: &str = "const greeting: string = 'hello from TypeScript'; console.log(greeting)";

/// An engine, and the result of its sandbox test.
pub(super) struct Tested {
    pub(super) engine: &'static EngineSpec,
    pub(super) examined: Result<Examination, EngineError>,
    /// How long the test took, including the start of the engine.
    pub(super) took: Duration,
}

impl Tested {
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
            timeout: Some(PATIENCE),
            ..Program::new(code(language))
        }
    }

    /// Whether the engine exists: one whose interpreter is not installed cannot be tested.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.examined, Err(EngineError::NoInterpreter { .. }))
    }

    /// How serious it is if this engine cannot run programs: the system's interpreter may be
    /// missing unless the configuration requires it.
    pub(super) fn if_missing(&self, config: &Config) -> Verdict {
        let is_wanted = self.engine.is_built_in()
            || config.python.is_some()
            || config.engine == EngineChoice::Only(self.engine.name);
        if is_wanted { Verdict::Red } else { Verdict::Yellow }
    }
}

/// Starts the engines one after the other, so that none slows another one down.
pub(super) async fn test(engines: &Engines) -> Vec<Tested> {
    let mut tested = Vec::new();
    for engine in engines.all() {
        let started = Instant::now();
        let examined = engine.examine().await;
        tested.push(Tested { engine: engine.spec, examined, took: started.elapsed() });
    }
    tested
}

/// Runs the programs. They are not recorded.
pub(super) async fn look(engines: Arc<Engines>, tested: &[Tested], config: &Config) -> Section {
    let runtime = Runtime::new(engines, Arc::new(Nobody), config.execution.clone());
    let mut findings = Vec::new();
    for engine in tested {
        let finding = match &engine.examined {
            Err(error) => cannot_run(engine, error, config),
            Ok(_) => hello(engine, &runtime).await,
        };
        findings.push(finding.fact("is_default", is_default(engine.engine, config)));
    }
    findings.extend(scratch::look(&runtime, tested, config).await);
    Section { name: "engines", findings }
}

/// Whether this engine is the default for programs that name none.
fn is_default(engine: &EngineSpec, config: &Config) -> bool {
    let first = ENGINES.iter().find(|it| it.runs(Language::default())).map(|it| it.name);
    match config.engine {
        EngineChoice::Auto => Some(engine.name) == first,
        EngineChoice::Only(name) => engine.name == name,
    }
}

fn cannot_run(engine: &Tested, error: &EngineError, config: &Config) -> Finding {
    let verdict = engine.if_missing(config);
    let finding = if engine.is_there() {
        Finding::told(verdict, engine.title(), "cannot run programs: see the sandbox above")
    } else {
        Finding::told(verdict, engine.title(), &error.to_string())
    };
    match verdict {
        Verdict::Red => finding,
        _ => finding.note("programs run on the embedded Python alone, without packages"),
    }
}

async fn hello(engine: &Tested, runtime: &Runtime) -> Finding {
    let program = engine.program(|language| match language {
        Language::Python => PYTHON,
        Language::TypeScript => TYPESCRIPT,
    });
    let started = Instant::now();
    let outcome = runtime.run(&program, &Silent).await;
    let took = started.elapsed();
    if let Err(failure) = outcome.result {
        let reason = match failure {
            Failure::EngineUnavailable { reason } => reason,
            other => other.to_string(),
        };
        return Finding::told(Verdict::Red, engine.title(), &reason).took(took);
    }
    let mut said = outcome.stdout.text.lines();
    let greeting = said.next().unwrap_or_default().to_owned();
    if !greeting.starts_with("hello from ") {
        return Finding::red(engine.title(), "a program ran, but its output did not arrive")
            .took(took);
    }
    let version = greeting.trim_start_matches("hello from ").to_owned();
    let prefix = said.next().filter(|path| !path.is_empty());
    let summary = match prefix {
        Some(path) => format!("{greeting} in {path}"),
        None => greeting,
    };
    Finding::green(engine.title(), summary)
        .took(took)
        .fact("version", version)
        .fact("prefix", prefix)
}
