//! `onecall proxy`: a plan from a file, and the answer of its target.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_runtime::{PlanAnswer, PlanRequest};
use serde_json::Value;

use crate::cli::Global;
use crate::commands::run::{Echo, Live, read};
use crate::commands::say;
use crate::setup;
use crate::terminal::{Readable, print};

/// Carries out the plan in `file`, or explains it.
pub(crate) fn proxy(file: &Path, explain: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let text = read(file, "plan")?;
    let plan: Value = serde_json::from_str(&text).context("the plan is not valid JSON")?;
    let Value::Object(plan) = plan else { bail!("the plan is not a JSON object") };
    let request = PlanRequest::read(&plan);
    let live = Live::new(Echo::Output);
    let answer = setup::with_gateway(global, async |gateway| {
        if explain {
            let plan = gateway.check_plan(request).await;
            return plan.map(|plan| format!("{plan}\n")).map_err(|problems| problems.to_string());
        }
        gateway.run_plan(request, &live).await.map(|answer| shown(&answer))
    });
    live.finish();
    match answer? {
        Ok(text) => {
            print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(text) => {
            say(&Readable::new(io::stderr().is_terminal()).text(&text));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Text as it is, what is no text as JSON.
fn shown(answer: &PlanAnswer) -> String {
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
