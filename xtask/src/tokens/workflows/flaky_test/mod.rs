//! Workflow: reads the logs of failed runs to find a flaky test.

use std::collections::BTreeMap;

use serde_json::json;

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "flaky-test",
    is_data_heavy: true,
    services: &["ci"],
    searches: &["CI workflow runs and logs of their jobs"],
    uses: &["ci.list_workflow_runs", "ci.get_job_log"],
    questions: &[Question {
        text: "CI of acme/shop has been red a lot in March although nobody touched the failing code. \
               Look through the logs of the failed runs of ci.yml: which test fails most often, on \
               how many different branches, and how many failures are due to other tests?",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let search =
        json!({ "repo": "acme/shop", "workflow": "ci.yml", "status": "failure", "limit": 100 });
    let runs = agent.pages("ci.list_workflow_runs", search, "workflow_runs")?;
    let jobs =
        runs.iter().map(|run| json!({ "repo": "acme/shop", "job_id": run["jobs"][0]["id"] }));
    let logs = agent.call_each("ci.get_job_log", jobs)?;
    let mut branches: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (run, log) in runs.iter().zip(&logs) {
        let failed = log["log"].as_str().unwrap_or_default().lines().filter_map(|line| {
            line.strip_suffix(" ... FAILED")?.split_once(" test ").map(|(_, test)| test)
        });
        for test in failed {
            branches.entry(test.to_owned()).or_default().push(run["branch"].to_string());
        }
    }
    let failures: usize = branches.values().map(Vec::len).sum();
    let (test, on) = branches.iter().max_by_key(|(_, on)| on.len()).ok_or("no test failed")?;
    let others = failures - on.len();
    let mut on = on.clone();
    on.sort();
    on.dedup();
    Ok(format!("{test} fails on {} branches; {others} other failures", on.len()))
}
