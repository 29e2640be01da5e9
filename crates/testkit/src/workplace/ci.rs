//! Continuous integration with a flaky test, among runs that fail for real reasons.

use std::fmt::Write;

use serde_json::{Value, json};

use super::calls::{CallResult, number, page};
use super::invented::{hash, person, pick, scatter};

const RUNS: u64 = 60;
const SUITES: [&str; 8] =
    ["auth", "billing", "catalog", "checkout", "emails", "export", "search", "sync"];
const CASES: [&str; 8] = [
    "accepts_valid_input",
    "rejects_expired_token",
    "keeps_order_of_rows",
    "retries_after_timeout",
    "handles_empty_result",
    "rounds_half_to_even",
    "survives_restart",
    "reports_every_error",
];

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    if tool == "get_job_log" {
        let job = arguments["job_id"].as_u64().and_then(|id| id.checked_sub(880_000));
        let run = job.filter(|run| *run < RUNS).ok_or("Not Found: no such job")?;
        return Ok(json!({ "job_id": 880_000 + run, "log": log(run) }));
    }
    let wanted = arguments["status"].as_str();
    let runs: Vec<Value> = (0..RUNS)
        .rev()
        .filter(|run| wanted.is_none_or(|wanted| wanted == conclusion(*run)))
        .map(workflow_run)
        .collect();
    page("workflow_runs", runs.into_iter(), arguments, number(arguments, "limit", 30, 100))
}

/// The test that failed in this run. In many runs it is the same one, although their commits have
/// nothing in common.
fn failed_test(run: u64) -> Option<(&'static str, &'static str)> {
    match scatter(run * 3, 10) {
        0..=2 => Some(("checkout", "retries_after_timeout")),
        3..=4 => Some((pick(run * 5, &SUITES), pick(run * 7, &CASES))),
        _ => None,
    }
}

fn conclusion(run: u64) -> &'static str {
    if failed_test(run).is_some() { "failure" } else { "success" }
}

fn workflow_run(run: u64) -> Value {
    json!({
        "id": 7_700_000 + run, "run_number": 1_400 + run, "workflow": "ci.yml", "event": "push",
        "status": "completed", "conclusion": conclusion(run),
        "branch": format!("feature/{}-{}", pick(run, &SUITES), 200 + run),
        "head_sha": format!("{}{}", hash(run), hash(run + 1_000)),
        "actor": person(scatter(run * 11, 12)), "attempt": 1,
        "created_at": format!("2026-03-{:02}T{:02}:14:09Z", run / 4 + 1, run % 4 * 6),
        "duration_seconds": 380 + scatter(run * 13, 200),
        "jobs": [{ "id": 880_000 + run, "name": "test (ubuntu-latest)", "conclusion": conclusion(run) }],
    })
}

fn log(run: u64) -> String {
    let mut log = String::new();
    let mut second = 0;
    let mut line = |text: String| {
        second += 1;
        let _ = writeln!(
            log,
            "2026-03-{:02}T10:{:02}:{:02}.{:03}Z {text}",
            run / 4 + 1,
            14 + second / 60,
            second % 60,
            scatter(run * 1_000 + second, 1_000)
        );
    };
    line("##[group]Run cargo test --workspace --no-fail-fast".to_owned());
    for (number, suite) in SUITES.iter().enumerate() {
        line(format!(
            "   Compiling {suite} v0.{}.{run} (/home/runner/work/shop/{suite})",
            4 + number
        ));
    }
    for suite in SUITES {
        line(format!("     Running tests/{suite}.rs (target/debug/deps/{suite}-{})", hash(run)));
        for case in CASES {
            let outcome = if failed_test(run) == Some((suite, case)) { "FAILED" } else { "ok" };
            line(format!("test {suite}::{case} ... {outcome}"));
        }
    }
    if let Some((suite, case)) = failed_test(run) {
        line(format!("---- {suite}::{case} stdout ----"));
        line(format!(
            "thread '{suite}::{case}' panicked at {suite}/tests/{suite}.rs:{}:9:",
            40 + run
        ));
        line("assertion `left == right` failed: the answer came too late".to_owned());
        for frame in 0..12 {
            line(format!(
                "   {frame}: {suite}::{}::poll at ./src/{suite}/{}.rs:{}",
                hash(frame),
                case,
                10 + frame
            ));
        }
        line(format!("test result: FAILED. 63 passed; 1 failed; finished in {}.21s", 20 + run % 9));
        line("##[error]Process completed with exit code 101.".to_owned());
    }
    log
}
