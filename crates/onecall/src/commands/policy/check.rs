//! `onecall policy check`: loads the policies and compares them with the tools of all servers.

use std::process::ExitCode;

use onecall_policy::{
    Policies, PolicyErrors, PolicyProblem, PolicySource, PolicyWarning, WarningKind,
};
use serde_json::{Value, json};

use super::counted;
use super::known::{Freshness, configured};
use crate::cli::Global;
use crate::terminal::print;

/// Checks the policies and prints what is wrong.
pub(super) fn check(is_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let (path, known) = configured(global, Freshness::Now)?;
    let checked = PolicySource::load(&path).and_then(|source| {
        let count = source.len();
        let (_, warnings) = Policies::new(source, &known.servers, &known.tools)?;
        Ok((count, warnings))
    });
    let is_fine = checked.as_ref().is_ok_and(|(_, warnings)| warnings.is_empty());
    print(&match (is_json, &checked) {
        (true, checked) => format!("{:#}\n", as_json(checked)),
        (false, Ok((count, warnings))) => {
            let count = counted(*count, "policy", "policies");
            let mut text = format!("{count} in {}: valid for all tools\n", path.display());
            if !warnings.is_empty() {
                let warned = counted(warnings.len(), "warning", "warnings");
                text = format!("{count} in {}: {warned}\n", path.display());
            }
            text + &lines("warning", warnings.iter().map(|warning| &warning.problem))
        }
        (false, Err(PolicyErrors { problems })) => {
            let found = counted(problems.len(), "error", "errors");
            format!("{} cannot be used: {found}\n{}", path.display(), lines("error", problems))
        }
    })?;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn lines<'a>(kind: &str, problems: impl IntoIterator<Item = &'a PolicyProblem>) -> String {
    problems.into_iter().map(|problem| format!("{kind}: {problem}\n")).collect()
}

fn as_json(checked: &Result<(usize, Vec<PolicyWarning>), PolicyErrors>) -> Value {
    let errors =
        checked.as_ref().err().map(|errors| errors.problems.as_slice()).unwrap_or_default();
    let warnings = checked.as_ref().map(|(_, warnings)| warnings.as_slice()).unwrap_or_default();
    let warning = |warning: &PolicyWarning| {
        let mut value = problem_json(&warning.problem);
        value["kind"] = match warning.kind {
            WarningKind::NotListedYet(_) => "not_listed_yet",
            WarningKind::DoesNotFit => "does_not_fit",
            WarningKind::Suspicious => "suspicious",
        }
        .into();
        value
    };
    json!({
        "valid": checked.is_ok(),
        "policies": checked.as_ref().ok().map(|(count, _)| count),
        "errors": errors.iter().map(problem_json).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(warning).collect::<Vec<_>>(),
    })
}

fn problem_json(problem: &PolicyProblem) -> Value {
    json!({
        "file": problem.file,
        "line": problem.position.map(|position| position.line),
        "column": problem.position.map(|position| position.column),
        "message": problem.message,
    })
}
