//! `onecall approvals grants` and `revoke`: the approvals that cover later calls.

use std::process::ExitCode;

use onecall_core::Timestamp;
use onecall_core::nearest::nearest;
use onecall_core::storage::Grant;
use onecall_core::text::{visible_json, visible_line};
use serde_json::{Value, json};
use thiserror::Error;

use super::Desk;
use crate::commands::{note, say};
use crate::formatting::{Alignment, table, terminal_width};
use crate::terminal::print_styled;

/// Prints the approvals, one per row.
pub(super) fn list(desk: &Desk, as_json: bool) -> anyhow::Result<ExitCode> {
    let grants = desk.store.all_grants(Timestamp::now())?;
    if as_json {
        let grants: Value = grants.iter().map(|grant| desk.grant_json(grant)).collect();
        print_styled(&format!("{}\n", visible_json(&format!("{grants:#}"))))?;
    } else if grants.is_empty() {
        note("No approval covers later calls");
    } else {
        print_styled(&rows(desk, &grants, terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(desk: &Desk, grants: &[Grant], width: usize) -> String {
    let headings = ["ID", "UNTIL", "BY", "TOOL", "ARGUMENTS"].map(|name| (name, Alignment::Left));
    let row = |grant: &Grant| {
        let until = grant.until.map_or("the end of its run".to_owned(), |until| until.to_string());
        let arguments = match grant.constraints.is_empty() {
            true => "any".to_owned(),
            false => Value::Object(grant.constraints.clone()).to_string(),
        };
        let cells = [grant.item.as_str(), &until, &grant.by, grant.name.as_str(), &arguments];
        cells.map(|cell| desk.line(cell)).to_vec()
    };
    table(&headings, &grants.iter().map(row).collect::<Vec<_>>(), width)
}

/// Why an id means no approval.
#[derive(Debug, Error)]
enum UnknownGrant {
    #[error("no approval that covers later calls has the id '{id}'{hint}")]
    Nothing {
        id: String,
        /// The id that was probably meant, or where ids are listed.
        hint: String,
    },
    #[error("several approvals begin with '{id}': {}; write more of it", .items.join(", "))]
    Several { id: String, items: Vec<String> },
}

/// What became of one id to be revoked.
struct Outcome {
    item: Option<String>,
    is_done: bool,
    message: String,
}

/// Takes approvals back, and says what became of each.
pub(super) fn revoke(desk: &Desk, ids: &[String], as_json: bool) -> anyhow::Result<ExitCode> {
    let grants = desk.store.all_grants(Timestamp::now())?;
    let mut outcomes = Vec::new();
    for id in ids {
        outcomes.push(desk.revoke_one(id, &grants)?);
    }
    if as_json {
        let outcomes: Value = outcomes.iter().map(Outcome::json).collect();
        print_styled(&format!("{}\n", visible_json(&format!("{outcomes:#}"))))?;
    }
    for Outcome { is_done, message, .. } in outcomes.iter().filter(|_| !as_json) {
        let message = visible_line(message);
        if *is_done { note(&message) } else { say(&format!("error: {message}")) }
    }
    let all_done = outcomes.iter().all(|outcome| outcome.is_done);
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Desk {
    fn revoke_one(&self, id: &str, grants: &[Grant]) -> anyhow::Result<Outcome> {
        let grant = match find(id, grants) {
            Ok(grant) => grant,
            Err(error) => {
                let message = error.to_string();
                return Ok(Outcome { item: None, is_done: false, message });
            }
        };
        let is_done = self.store.revoke_grant(&grant.item)?;
        let (name, item) = (&grant.name, grant.item.as_str());
        let message = match is_done {
            true => format!("Later calls of '{name}' ask again ({item})"),
            false => format!("the approval '{item}' has been taken back meanwhile"),
        };
        Ok(Outcome { item: Some(item.to_owned()), is_done, message })
    }

    fn grant_json(&self, grant: &Grant) -> Value {
        let constraints = Value::Object(grant.constraints.clone()).to_string();
        json!({
            "id": grant.item.as_str(),
            "tool": grant.name.as_str(),
            "run": grant.run.as_ref().map(|run| run.as_str()),
            "arguments": self.json_without_secrets(&constraints),
            "until": grant.until.map(|until| until.to_string()),
            "by": grant.by,
        })
    }
}

impl Outcome {
    fn json(&self) -> Value {
        json!({ "id": self.item, "revoked": self.is_done, "message": self.message })
    }
}

/// The approval that `id` means: its own id, or the beginning of it.
fn find<'g>(id: &str, grants: &'g [Grant]) -> Result<&'g Grant, UnknownGrant> {
    if let Some(exact) = grants.iter().find(|grant| grant.item.as_str() == id) {
        return Ok(exact);
    }
    let begins = |grant: &&Grant| !id.is_empty() && grant.item.as_str().starts_with(id);
    let found: Vec<_> = grants.iter().filter(begins).collect();
    let ids = |grants: &[&Grant]| grants.iter().map(|it| it.item.as_str().to_owned()).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let near = nearest(id, grants.iter().map(|grant| grant.item.as_str()));
            let hint = match near {
                Some(meant) => format!("; did you mean '{meant}'?"),
                None => "; see `onecall approvals grants`".to_owned(),
            };
            Err(UnknownGrant::Nothing { id: id.to_owned(), hint })
        }
        several => Err(UnknownGrant::Several { id: id.to_owned(), items: ids(several) }),
    }
}
