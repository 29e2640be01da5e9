//! `onecall runs replay`: runs a recorded program again, and says what is different.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_config::LoadedConfig;
use onecall_core::Outcome;
use onecall_core::storage::RunRecord;
use onecall_runtime::{Journal, Redactor};
use onecall_server::diff_lines;

use crate::commands::{note, say};
use crate::live::{Echo, LiveProgress};
use crate::replay::{PreparedReplay, replay_engines};
use crate::setup;
use crate::terminal::neutralise;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 40;

pub(super) fn replay(mut record: RunRecord, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let live = LiveProgress::new(Echo::Output);
    let replay = PreparedReplay::of(&mut record)?;
    let engines = Arc::new(replay_engines(&loaded.config, loaded.source.as_deref())?);
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(replay.run(engines, loaded.config.execution.clone(), &live));
    runtime.shutdown_background();
    live.finish();
    Ok(verdict(&record, &outcome, replay.journal()))
}

/// Reports whether the replay had the same result.
fn verdict(record: &RunRecord, outcome: &Outcome, journal: &Journal) -> ExitCode {
    let run = &record.run;
    let before = run.error.as_ref().map(|(kind, _)| kind.as_str());
    let failure = outcome.result.as_ref().err().map(|failure| failure.summary());
    let now = failure.as_ref().map(|error| error.kind.as_str());
    let has_diverged = journal.divergence().is_some();
    if let Some(error) = &failure {
        say(&neutralise(&match has_diverged {
            true => format!("onecall: {}", error.message),
            false => format!("onecall: it failed with {}: {}", error.kind, error.message),
        }));
    }
    let left = journal.unrepeated_calls();
    if left > 0 {
        let calls = if left == 1 { "call was" } else { "calls were" };
        say(&format!("onecall: {left} recorded {calls} not made this time"));
    }
    let output = record.output.as_deref().unwrap_or_default();
    let difference = diff_lines(output, &outcome.stdout.text);
    if !difference.is_empty() {
        say("onecall: the output is different (- then, + now):");
        for line in difference.iter().take(MAX_LINES) {
            say(line);
        }
        if difference.len() > MAX_LINES {
            say(&format!("… and {} more lines", difference.len() - MAX_LINES));
        }
    }
    if before != now && !has_diverged {
        let text = |kind: Option<&str>| kind.map_or("it succeeded".to_owned(), neutralise);
        say(&format!("onecall: the result is different: {} then, {} now", text(before), text(now)));
    }
    if difference.is_empty() && before == now {
        note(&format!("onecall: the same output as in run {}", run.id));
        return ExitCode::SUCCESS;
    }
    let redacted = Redactor::REPLACEMENT;
    if record.program.contains(redacted) || record.argv.iter().any(|it| it.contains(redacted)) {
        say(&format!(
            "onecall: the program was recorded with {redacted} in the place of secrets, which may be the \
             reason"
        ));
    }
    ExitCode::FAILURE
}
