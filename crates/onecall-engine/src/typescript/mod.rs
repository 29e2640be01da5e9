//! Workers for TypeScript: QuickJS inside this binary, and the prelude, which provides the globals
//! that programs expect.

mod answers;
mod clock;
mod denial;
mod direct_files;
mod files;
mod hash;
mod journal;
mod json;
mod modules;
mod observations;
mod positions;
mod prelude;
mod program;
mod random;
mod returns;
mod script;
mod stack;
mod strip;
mod wire;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime};
use rustix::process::{Resource, getrlimit};

use wire::StartedProgram;

use crate::sandbox_plan::SandboxPlan;
use crate::system;
use crate::worker_process::{forks, sandbox};

/// The usual stack size of a process, used if there is no limit.
const USUAL_STACK: u64 = 8 * 1024 * 1024;

/// A program that every worker runs before the actual one arrives, so that the costs of first use
/// (page faults, cold code) are paid in advance.
const WARM_UP: &str = include_str!("prelude/warm_up.ts");

/// Runs the zygote on this process's stdin until the gateway closes it. `plan` is the argument that
/// the engine started this process with; it describes the sandbox of the workers.
pub fn run_zygote(plan: &str) -> ExitCode {
    system::allow_large_pages();
    match isolate(plan).and_then(|()| JavaScriptEngine::new()).and_then(|engine| engine.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The gateway logs what the zygote writes to stderr.
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Isolates the process. The gateway opens files for its programs.
fn isolate(plan: &str) -> io::Result<()> {
    let plan = SandboxPlan::parse(plan)?;
    files::configure(&plan);
    sandbox::isolate(plan.jail())
}

/// A JavaScript context with its prelude, ready for a program.
struct JavaScriptEngine {
    runtime: Runtime,
    context: Context,
    hooks: Persistent<Object<'static>>,
}

impl JavaScriptEngine {
    fn new() -> io::Result<Self> {
        let runtime = Runtime::new().map_err(io::Error::other)?;
        // The runtime is never freed: it ends with its process, and freeing it would fail as long
        // as any value of it is left.
        std::mem::forget(runtime.clone());
        runtime.set_max_stack_size(stack_bytes());
        let context = Context::full(&runtime).map_err(io::Error::other)?;
        let (hooks, loader, rejected) = context.with(|ctx| {
            let install = || {
                let hooks = prelude::install(&ctx)?;
                let tool: Function<'_> = hooks.get("tool")?;
                let client: Object<'_> = hooks.get("client")?;
                let node: Object<'_> = hooks.get("nodeModules")?;
                let rejected: Function<'_> = hooks.get("rejected")?;
                let loader = modules::ServerModuleLoader {
                    tool: Persistent::save(&ctx, tool),
                    client: Persistent::save(&ctx, client),
                    node: Persistent::save(&ctx, node),
                };
                let rejected = Persistent::save(&ctx, rejected);
                Ok((Persistent::save(&ctx, hooks), loader, rejected))
            };
            install().map_err(|error: rquickjs::Error| prelude_error(&ctx, &error))
        })?;
        runtime.set_loader(modules::VerbatimResolver, loader);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                let called = rejected
                    .clone()
                    .restore(&ctx)
                    .and_then(|rejected| rejected.call::<_, ()>((promise, reason, is_handled)));
                if called.is_err() {
                    ctx.catch();
                }
            },
        )));
        Ok(Self { runtime, context, hooks })
    }

    fn serve(&self) -> io::Result<()> {
        let Some(worker) = forks::serve(None)? else { return Ok(()) };
        // If the gateway is gone, the result is not needed.
        if let Err(error) = self.run_programs(worker.files) {
            _ = wire::finish(&Err(error.to_string()));
        }
        std::process::exit(0)
    }

    /// Runs the program of this worker, or all programs of its session.
    fn run_programs(&self, files: Option<OwnedFd>) -> io::Result<()> {
        if let Some(files) = files {
            files::attach(files);
        }
        wire::attach()?;
        if let Err(failure) = self.run(&warm_up()) {
            return wire::finish(&Err(failure));
        }
        wire::POSITION_MAPS.take();
        wire::lock()?;
        loop {
            let program = wire::next_program()?;
            if program.has_scratch {
                files::add_scratch();
            }
            let memory = program.memory;
            self.runtime.set_memory_limit(usize::try_from(memory).unwrap_or(usize::MAX));
            let mut result = self.run(&program);
            // Without memory, QuickJS cannot create an error object and throws `null`.
            if result.as_ref().is_err_and(|failure| failure == "Uncaught null") {
                let used = self.runtime.memory_usage().malloc_size;
                if u64::try_from(used).is_ok_and(|used| used > memory / 2) {
                    result = Err(program::OUT_OF_MEMORY.to_owned());
                }
            }
            wire::finish(&result)?;
            if !program.options.keep_worker {
                return Ok(());
            }
        }
    }

    /// Runs a program; returns what it reports about its value, or the text of its failure.
    fn run(&self, program: &StartedProgram) -> Result<String, String> {
        self.context.with(|ctx| match self.hooks.clone().restore(&ctx) {
            Ok(hooks) => program::run(&ctx, hooks, program),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// The warm-up program.
fn warm_up() -> StartedProgram {
    StartedProgram { source: WARM_UP.to_owned(), ..StartedProgram::default() }
}

/// The stack size for the program's own functions; the rest is for native functions that they call.
fn stack_bytes() -> usize {
    let limit = getrlimit(Resource::Stack).current.unwrap_or(USUAL_STACK);
    usize::try_from(limit.min(USUAL_STACK) / 4 * 3).unwrap_or_default()
}

/// Converts an error of the prelude into a message.
fn prelude_error(ctx: &Ctx<'_>, error: &rquickjs::Error) -> io::Error {
    let thrown = ctx.catch();
    match thrown.as_exception() {
        Some(exception) => io::Error::other(format!("the prelude failed: {exception}")),
        None => io::Error::other(format!("the prelude failed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rehearsal_succeeds() {
        let engine = JavaScriptEngine::new().unwrap();
        assert_eq!(engine.run(&warm_up()), Ok(String::new()));
    }
}
