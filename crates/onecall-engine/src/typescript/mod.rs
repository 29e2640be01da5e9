//! The body of a TypeScript worker: QuickJS inside this binary, and the prelude that
//! gives programs what they expect around the language.

mod denial;
mod depth;
mod json;
mod modules;
mod positions;
mod prelude;
mod program;
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

use crate::cell::Plan;
use crate::inside::cell;

/// A process has at least this much stack, unless a limit says less.
const USUAL_STACK: u64 = 8 * 1024 * 1024;

/// Runs in every worker before its program arrives, so that the first touch of shared
/// memory and of cold code is not the program's to pay for.
const WARM_UP: &str = include_str!("prelude/warm_up.ts");

/// Runs the zygote on this process's stdin until the gateway closes it. Its
/// workers are locked in as `plan` says, the argument the engine started this
/// process with.
pub fn run_zygote(plan: &str) -> ExitCode {
    match isolate(plan).and_then(|()| Engine::new()).and_then(|engine| engine.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The gateway logs what the zygote writes to stderr.
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// There is nothing on the disk for these programs.
fn isolate(plan: &str) -> io::Result<()> {
    let requirement = Plan::parse(plan)?.requirement();
    cell::isolate(Jail { requirement, ..Jail::default() })
}

/// The language with its prelude, ready for a program.
struct Engine {
    runtime: Runtime,
    context: Context,
    hooks: Persistent<Object<'static>>,
}

impl Engine {
    fn new() -> io::Result<Self> {
        let runtime = Runtime::new().map_err(io::Error::other)?;
        // It ends with its process: taking it down would be work for nothing, and it insists
        // that nothing of it is left.
        std::mem::forget(runtime.clone());
        runtime.set_max_stack_size(stack_bytes());
        let context = Context::full(&runtime).map_err(io::Error::other)?;
        let (hooks, servers, rejected) = context.with(|ctx| {
            let install = || {
                let hooks = prelude::install(&ctx)?;
                let tool: Function<'_> = hooks.get("tool")?;
                let client: Object<'_> = hooks.get("client")?;
                let rejected: Function<'_> = hooks.get("rejected")?;
                let servers = modules::Servers {
                    tool: Persistent::save(&ctx, tool),
                    client: Persistent::save(&ctx, client),
                };
                let rejected = Persistent::save(&ctx, rejected);
                Ok((Persistent::save(&ctx, hooks), servers, rejected))
            };
            install().map_err(|error: rquickjs::Error| said(&ctx, &error))
        })?;
        runtime.set_loader(modules::AsWritten, servers);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                let told = rejected
                    .clone()
                    .restore(&ctx)
                    .and_then(|rejected| rejected.call::<_, ()>((promise, reason, is_handled)));
                if told.is_err() {
                    ctx.catch();
                }
            },
        )));
        Ok(Self { runtime, context, hooks })
    }

    fn serve(&self) -> io::Result<()> {
        zygote::serve(|| {
            let failure = match self.work() {
                Ok(failure) => failure,
                Err(error) => Some(error.to_string()),
            };
            // A gateway that is gone need not be told.
            _ = wire::finish(failure.as_deref());
        })
    }

    /// Runs the next program; returns the text of its failure, or `None`.
    fn work(&self) -> io::Result<Option<String>> {
        wire::attach()?;
        if let Some(failure) = self.run(WARM_UP) {
            return Ok(Some(failure));
        }
        let (source, memory) = wire::next_program()?;
        self.runtime.set_memory_limit(usize::try_from(memory).unwrap_or(usize::MAX));
        let failure = self.run(&source);
        // With no memory left there is none for an error that says so.
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

/// Stack for the program's functions; the rest is for what they call of ours.
fn stack_bytes() -> usize {
    let limit = getrlimit(Resource::Stack).current.unwrap_or(USUAL_STACK);
    usize::try_from(limit.min(USUAL_STACK) / 4 * 3).unwrap_or_default()
}

/// What became of our own JavaScript, in words.
fn said(ctx: &Ctx<'_>, error: &rquickjs::Error) -> io::Error {
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
        let engine = Engine::new().unwrap();
        assert_eq!(engine.run(WARM_UP), None);
    }
}
