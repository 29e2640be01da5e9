//! Checks the scratch folder: whether a program that uses it can write to it, on each Python
//! engine.

use std::path::Path;
use std::time::Instant;

use onecall_config::{Config, SandboxMode};
use onecall_core::Language;
use onecall_runtime::{NoopObserver, Runtime};
use serde_json::{Map, Value, json};

use super::engines::TestedEngine;
use super::finding::Finding;

const PYTHON: &str = "import os\nopen('/tmp/x', 'w').close()\nprint(*os.listdir('/tmp'))";
const TYPESCRIPT: &str = "import fs from 'fs';\nfs.writeFileSync('/tmp/x', '');\nconsole.log(...fs.readdirSync('/tmp'));";
const PRINTED: &str = "x\n";

/// Checks the scratch folder; `None` if programs have no folder of their own at `/tmp`, but that of
/// the host or their workspace.
pub(super) async fn check(
    runtime: &Runtime,
    tested: &[TestedEngine],
    config: &Config,
) -> Option<Finding> {
    let workspace = config.workspace.as_ref();
    let is_workspace = workspace.is_some_and(|it| Path::new("/tmp").starts_with(&it.path));
    if config.sandbox == SandboxMode::Off || is_workspace {
        return None;
    }
    let started = Instant::now();
    let (mut able, mut troubles) = (Vec::new(), Vec::new());
    let mut engines = Map::new();
    let has_folder = |it: &&TestedEngine| it.sandbox_report.is_ok();
    for engine in tested.iter().filter(has_folder) {
        let program = engine.program(|language| match language {
            Language::Python => PYTHON,
            Language::TypeScript => TYPESCRIPT,
        });
        let outcome = runtime.run(&program, &NoopObserver).await;
        let works = outcome.result.is_ok() && outcome.stdout.text == PRINTED;
        engines.insert(engine.title().to_owned(), json!(works));
        if works {
            able.push(engine.title());
        } else {
            let reason = outcome.remarks.join("; ");
            let failure = || outcome.result.err().map(|failure| failure.to_string());
            let reason = (!reason.is_empty()).then_some(reason).or_else(failure);
            troubles.push(format!("not on {}: {}", engine.title(), reason.unwrap_or_default()));
        }
    }
    if engines.is_empty() {
        return None;
    }
    let what = "programs that name /tmp have a folder in memory there";
    let finding = match troubles.is_empty() {
        true => Finding::green("scratch", format!("{what}, on {}", able.join(", "))),
        false => Finding::yellow("scratch", format!("not on every engine: {what}")),
    };
    let finding = troubles.into_iter().fold(finding, Finding::note);
    Some(finding.took(started.elapsed()).fact("engines", Value::Object(engines)))
}
