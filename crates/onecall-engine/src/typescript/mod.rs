//! Workers for TypeScript: QuickJS inside this binary, and the prelude, which provides the globals
//! that programs expect.

mod answers;
mod clock;
mod denial;
mod depth;
mod journal;
mod json;
mod modules;
mod observations;
mod positions;
mod prelude;
mod program;
mod random;
mod returns;
mod specifier;
mod stack;
mod strip;
mod wire;
mod zygote;

use std::io::{self, Write};
use std::process::ExitCode;

use onecall_jail::Jail;
use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime};
use rustix::process::{Resource, getrlimit};

use crate::sandbox_plan::SandboxPlan;
use crate::worker_process::sandbox;

/// The usual stack size of a process, used if there is no limit.
const USUAL_STACK: u64 = 8 * 1024 * 1024;

/// A program that every worker runs before the actual one arrives, so that the costs of first use
/// (page faults, cold code) are paid in advance.
const WARM_UP: &str = include_str!("prelude/warm_up.ts");

/// Runs the zygote on this process's stdin until the gateway closes it. `plan` is the argument that
/// the engine started this process with; it describes the sandbox of the workers.
pub fn run_zygote(plan: &str) -> ExitCode {
    match isolate(plan).and_then(|()| JavaScriptEngine::new()).and_then(|engine| engine.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The gateway logs what the zygote writes to stderr.
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Isolates the process. These programs have no access to files.
fn isolate(plan: &str) -> io::Result<()> {
    let requirement = SandboxPlan::parse(plan)?.requirement();
    sandbox::isolate(Jail { requirement, ..Jail::default() })
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
                let rejected: Function<'_> = hooks.get("rejected")?;
                let loader = modules::ServerModuleLoader {
                    tool: Persistent::save(&ctx, tool),
                    client: Persistent::save(&ctx, client),
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
        zygote::serve(|| {
            let failure = match self.run_next_program() {
                Ok(failure) => failure,
                Err(error) => Some(error.to_string()),
            };
            // If the gateway is gone, the result is not needed.
            _ = wire::finish(failure.as_deref());
        })
    }

    /// Runs the next program; returns the text of its failure, or `None`.
    fn run_next_program(&self) -> io::Result<Option<String>> {
        wire::attach()?;
        if let Some(failure) = self.run(WARM_UP) {
            return Ok(Some(failure));
        }
        let (source, memory) = wire::next_program()?;
        self.runtime.set_memory_limit(usize::try_from(memory).unwrap_or(usize::MAX));
        let failure = self.run(&source);
        // Without memory, QuickJS cannot create an error object and throws `null`.
        if failure.as_deref() == Some("Uncaught null") {
            let used = self.runtime.memory_usage().malloc_size;
            if u64::try_from(used).is_ok_and(|used| used > memory / 2) {
                return Ok(Some(program::OUT_OF_MEMORY.to_owned()));
            }
        }
        Ok(failure)
    }

    fn run(&self, source: &str) -> Option<String> {
        self.context.with(|ctx| match self.hooks.clone().restore(&ctx) {
            Ok(hooks) => program::run(&ctx, hooks, source),
            Err(error) => Some(error.to_string()),
        })
    }
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
        assert_eq!(engine.run(WARM_UP), None);
    }
}
