//! The multi-turn tasks of the Berkeley Function Calling Leaderboard.

use serde_json::Value;

use super::driver::{Setup, is_true, python, sum, text};
use super::page::Section;

/// Runs the ground truths of all tasks, or of every 40th.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let every = setup.size("1", "40").to_owned();
    let reports = setup.run(&python()?, "bfcl.py", &[every], &[])?;
    let differences = |report: &Value| {
        report.get("differences").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (mut explained, mut shortfalls) = (Vec::new(), Vec::new());
    let mut equal = 0;
    for report in &reports {
        let (task, found) = (text(report, "task"), differences(report));
        if found.is_empty() && is_true(report, "same_state") {
            equal += 1;
        }
        for difference in &found {
            match text(difference, "explained") {
                "" => shortfalls.push(format!("{task} differs: {difference}")),
                why => explained.push(format!("- `{task}`: {why}")),
            }
        }
        if found.is_empty() && !is_true(report, "same_state") {
            shortfalls.push(format!("{task} ends in another state"));
        }
    }
    let total = reports.len();
    let same_state = reports.iter().filter(|report| is_true(report, "same_state")).count();
    let body = format!(
        "The package `bfcl-eval` (Apache-2.0) has {total} multi-turn tasks and, for each turn, the calls that\n\
         solve it, written as Python. Its API classes are served as MCP servers, the calls of each turn become\n\
         one program, and the programs of a task run in one session: {} calls in {} programs. After each turn\n\
         BFCL's own checkers compare the state of its classes, and every value that the program got, with what\n\
         BFCL itself gets from the same calls.\n\n\
         {same_state} of {total} tasks end in the same state, and {equal} of {total} are equal after every turn, values\n\
         included.{}",
        sum(&reports, "calls"),
        sum(&reports, "programs"),
        render_explained(&explained),
    );
    Ok(Section {
        title: "BFCL v4, multi-turn",
        summary: format!(
            "{same_state} of {total} end in the same state; {equal} equal in every turn and value, {} explained",
            total - equal
        ),
        body,
        shortfalls,
    })
}

fn render_explained(explained: &[String]) -> String {
    if explained.is_empty() {
        return String::new();
    }
    format!(
        " In the others, the ground truth contradicts the schema that BFCL gives for its own function, and\n\
         onecall refuses the program before it runs, as it does for every argument that cannot fit:\n\n{}",
        explained.join("\n")
    )
}
