//! The user tasks of AgentDojo.

use super::driver::{Setup, is_true, python, sum, text};
use super::page::Section;

/// Runs the ground truths of all tasks, or of every 10th.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let every = setup.size("1", "10").to_owned();
    let reports = setup.run(&python()?, "dojo.py", &[every], &[])?;
    let (useful, others): (Vec<_>, Vec<_>) =
        reports.iter().partition(|report| is_true(report, "useful"));
    let shortfalls = others
        .iter()
        .map(|it| format!("{} is not solved: {}", text(it, "task"), text(it, "failure")))
        .collect();
    let total = reports.len();
    let idle: Vec<&str> =
        reports.iter().filter(|it| is_true(it, "passes_idle")).map(|it| text(it, "task")).collect();
    let remark = match idle.as_slice() {
        [] => String::new(),
        tasks => format!(
            " The checks of {} tasks prove nothing, because\nthey also pass if nothing is called: {}.",
            tasks.len(),
            tasks.join(", ")
        ),
    };
    let body = format!(
        "The package `agentdojo` (MIT) has {total} user tasks over a workplace, a bank, a chat and a travel agency,\n\
         each with the calls that solve it and a check of its own. The tools are served as MCP servers, and the\n\
         calls of a task are one program: {} calls. The checks look at the environment, at the calls that\n\
         arrived, and at what the program printed.\n\n\
         {} of {total} tasks pass their check.{remark} The attacks of AgentDojo are not part of this.",
        sum(&reports, "calls"),
        useful.len(),
    );
    Ok(Section {
        title: "AgentDojo",
        summary: format!("{} of {total} solved", useful.len()),
        body,
        shortfalls,
    })
}
