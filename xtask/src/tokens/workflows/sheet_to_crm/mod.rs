//! Workflow: looks up every lead of a spreadsheet in a CRM, and creates or updates it there.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "sheet-to-crm",
    is_data_heavy: true,
    services: &["sheets", "crm"],
    searches: &["read rows of a spreadsheet", "find, create and update CRM contacts"],
    uses: &["sheets.read_range", "crm.find_contact", "crm.create_contact", "crm.update_contact"],
    questions: &[Question {
        text: "The leads from the trade fair are in the spreadsheet 1fAiR2026leads, range \
               Leads!A1:J500. Bring them into the CRM: create contacts that are missing, and where \
               one exists with another stage or deal value, update both. Tell me how many were \
               created, updated and left alone, and what the created ones are worth.",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let range = json!({ "spreadsheet_id": "1fAiR2026leads", "range": "Leads!A1:J500" });
    let sheet = agent.call("sheets.read_range", range)?;
    let rows = sheet["values"].as_array().map(|rows| rows[1..].to_vec()).unwrap_or_default();
    let lookups = rows.iter().map(|row| json!({ "email": row[2] }));
    let found = agent.call_each("crm.find_contact", lookups)?;
    let (mut creations, mut updates, mut worth) = (Vec::new(), Vec::new(), 0);
    for (row, found) in rows.iter().zip(&found) {
        let Some(contact) = found["contacts"].get(0) else {
            worth += row[6].as_u64().unwrap_or_default();
            creations.push(contact_of(row));
            continue;
        };
        let properties = &contact["properties"];
        if (&properties["stage"], &properties["deal_value"]) != (&row[5], &row[6]) {
            let (id, stage, value) = (&contact["id"], &row[5], &row[6]);
            updates.push(json!({ "contact_id": id, "stage": stage, "deal_value": value }));
        }
    }
    let (created, updated) = (creations.len(), updates.len());
    let creations = creations.into_iter().map(|arguments| ("crm.create_contact", arguments));
    let updates = updates.into_iter().map(|arguments| ("crm.update_contact", arguments));
    agent.call_all(creations.chain(updates).collect())?;
    let unchanged = rows.len() - created - updated;
    Ok(format!("created {created} (worth {worth} EUR), updated {updated}, unchanged {unchanged}"))
}

fn contact_of(row: &Value) -> Value {
    json!({
        "email": row[2], "name": row[0], "company": row[1], "phone": row[3], "country": row[4],
        "stage": row[5], "deal_value": row[6], "owner": row[7],
    })
}
