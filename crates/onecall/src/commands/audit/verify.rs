//! Checks the audit trail.

use std::process::ExitCode;

use onecall_core::storage::{AuditReport, AuditTrail, ExpectedHead};
use serde_json::json;

use crate::terminal::print;

pub(super) fn verify(
    trail: &dyn AuditTrail,
    expected: Option<ExpectedHead>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let report = trail.verify_audit(expected)?;
    print(&match as_json {
        true => format!("{:#}\n", in_json(&report)),
        false => in_words(&report),
    })?;
    Ok(if report.is_intact() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn in_json(report: &AuditReport) -> serde_json::Value {
    json!({
        "intact": report.is_intact(),
        "rows": report.rows,
        "removed": report.removed,
        "head": report.head.map(|head| head.to_string()),
        "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "further_problems": report.further_problems,
    })
}

fn in_words(report: &AuditReport) -> String {
    let AuditReport { rows, removed, head, problems, further_problems } = report;
    let removed = match removed {
        0 => String::new(),
        removed => format!(", and {removed} older rows were removed because of their age"),
    };
    let Some(head) = head.as_ref().filter(|_| report.is_intact()) else {
        if report.is_intact() {
            return "The audit trail is empty\n".to_owned();
        }
        let mut text = format!("The audit trail is not intact. It has {rows} rows{removed}.\n");
        problems.iter().for_each(|problem| text.push_str(&format!("- {problem}\n")));
        if *further_problems > 0 {
            text.push_str(&format!("- and {further_problems} further problems\n"));
        }
        return text;
    };
    format!("The audit trail is intact: {rows} rows{removed}.\nThe newest is {head}\n")
}
