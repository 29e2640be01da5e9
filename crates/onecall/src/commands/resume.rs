//! `onecall resume`: continues an interrupted run in this process.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_core::RunId;
use onecall_core::text::{visible_json, visible_line};
use onecall_gateway::{AcceptedConfiguration, Gateway, ResumeError, RunAnswer};
use onecall_runtime::Observer;
use serde_json::{Value, json};

use super::cancel::find_run;
use crate::cli::Global;
use crate::commands::{note, say};
use crate::live::{Echo, LiveProgress};
use crate::terminal::{EXIT_INTERRUPTED, print};
use crate::terminal_questions::while_asking;
use crate::{setup, store, waiting};

/// Continues a run, waits for its end and prints its answer.
pub(crate) fn resume(
    id: &str,
    accepted: AcceptedConfiguration,
    as_json: bool,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let run = match find_run(id, store::open(&loaded.config)?.durable_runs(true)?) {
        Ok(run) => run.id,
        Err(error) => return refuse(None, &error.to_string(), as_json),
    };
    let runtime = setup::tokio_runtime()?;
    let live = Arc::new(LiveProgress::new(Echo::Nothing));
    let ended = runtime.block_on(async {
        let gateway = setup::gateway_on_demand(loaded)?;
        let work = while_asking(&gateway, global, finish(&gateway, &run, accepted, &live));
        let running = live.connecting(work, || gateway.status());
        let ended = live.unless_interrupted(running).await;
        live.finish();
        waiting::print_failures(&gateway.status(), "");
        gateway.shutdown().await;
        anyhow::Ok(ended)
    })?;
    runtime.shutdown_background();
    match ended {
        None => {
            say(&format!("onecall: interrupted; `onecall resume {run}` continues the run again"));
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
        Some(Err(error)) => {
            refuse(Some(&run), &format!("run {run} is not continued: {error}"), as_json)
        }
        Some(Ok(answer)) => conclude(&run, &answer, as_json),
    }
}

async fn finish(
    gateway: &Arc<Gateway>,
    run: &RunId,
    accepted: AcceptedConfiguration,
    live: &Arc<LiveProgress>,
) -> Result<Arc<RunAnswer>, ResumeError> {
    let observer: Arc<dyn Observer> = Arc::clone(live) as Arc<dyn Observer>;
    let _follower = gateway.follow_run(run, observer);
    gateway.resume(run, accepted).await?;
    gateway.finish_run(run, accepted).await
}

/// Says why a run is not continued: as JSON like that of `onecall cancel`, or as a line on stderr.
fn refuse(run: Option<&RunId>, message: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let run = run.map(RunId::as_str);
        let result = json!({ "run": run, "continued": false, "message": message });
        print(&format!("{}\n", visible_json(&format!("{result:#}"))))?;
    } else {
        say(&visible_line(&format!("error: {message}")));
    }
    Ok(ExitCode::FAILURE)
}

/// Prints the answer of a run that has ended.
fn conclude(run: &RunId, answer: &RunAnswer, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        print(&format!("{:#}\n", serde_json::to_value(answer)?))?;
    } else {
        for block in &answer.content {
            match block.get("text") {
                Some(Value::String(text)) => print(&format!("{}\n", text.trim_end()))?,
                _ => note(&format!("The answer of run {run} has more than text: --json shows it")),
            }
        }
    }
    Ok(if answer.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
