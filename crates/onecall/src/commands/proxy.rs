//! `onecall proxy`: executes a plan from a file and prints the answer of its target.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_runtime::{PlanAnswer, PlanRequest};
use serde_json::Value;

use crate::cli::Global;
use crate::commands::run::read;
use crate::commands::say;
use crate::live::{Echo, LiveProgress};
use crate::setup;
use crate::terminal::{EXIT_INTERRUPTED, TerminalEscaper, print};
use crate::terminal_questions::while_asking;

/// Executes the plan in `file`, or explains it.
pub(crate) fn proxy(file: &Path, explain: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let text = read(file, "plan")?;
    let plan: Value = serde_json::from_str(&text).context("the plan is not valid JSON")?;
    let Value::Object(plan) = plan else { bail!("the plan is not a JSON object") };
    if explain {
        let request = PlanRequest::read(&plan);
        let plan = setup::ask_gateway(global, async |gateway| gateway.check_plan(request).await)?;
        let explained = plan.map(|plan| format!("{plan}\n"));
        return conclude(explained);
    }
    let live = LiveProgress::new(Echo::Output);
    let answer = setup::with_gateway(global, async |gateway| {
        let work = while_asking(gateway, global, gateway.run_plan(&plan, &live));
        let running = live.connecting(work, || gateway.status());
        let answer = live.unless_interrupted(running).await;
        live.finish();
        answer
    });
    match answer? {
        Some(answer) => conclude(answer.map(|answer| answer_text(&answer))),
        None => {
            say(&format!("onecall: interrupted after {}", live.calls_made()));
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
    }
}

fn conclude(answer: Result<String, impl Display>) -> anyhow::Result<ExitCode> {
    match answer {
        Ok(text) => {
            print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(failed) => {
            say(&TerminalEscaper::new(io::stderr().is_terminal()).text(&failed.to_string()));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The answer as text: text blocks unchanged, all others as JSON.
fn answer_text(answer: &PlanAnswer) -> String {
    let mut shown = String::new();
    for block in &answer.content {
        match block.get("text") {
            Some(Value::String(text)) => shown.push_str(text),
            _ => shown.push_str(&block.to_string()),
        }
        shown.push('\n');
    }
    match &answer.structured {
        Some(structured) if answer.content.is_empty() => format!("{structured}\n"),
        _ => shown,
    }
}
