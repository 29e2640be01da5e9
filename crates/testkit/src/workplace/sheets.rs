//! A spreadsheet with the leads of a trade fair.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::{address, company, day, domain, person, pick, prose, scatter};

const LEADS: u64 = 90;
const STAGES: [&str; 4] = ["new", "qualified", "proposal", "negotiation"];
const COUNTRIES: [&str; 6] = ["DE", "FR", "IT", "JP", "NG", "BR"];

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let (id, range) = (text(arguments, "spreadsheet_id")?, text(arguments, "range")?);
    if id != "1fAiR2026leads" || !range.starts_with("Leads!") {
        return Err(format!("Unable to parse range: {range} of spreadsheet {id}"));
    }
    let header = json!([
        "Name",
        "Company",
        "Email",
        "Phone",
        "Country",
        "Stage",
        "Deal value",
        "Owner",
        "Last contact",
        "Notes"
    ]);
    let values: Vec<Value> = std::iter::once(header).chain((0..LEADS).map(lead)).collect();
    Ok(json!({
        "range": format!("Leads!A1:J{}", LEADS + 1), "majorDimension": "ROWS", "values": values,
    }))
}

fn lead(number: u64) -> Value {
    let (name, company) = (person(number), company(scatter(number, 20)));
    json!([
        name,
        company,
        address(&name, &domain(company)),
        format!("+49 30 {:07}", scatter(number * 3, 10_000_000)),
        pick(number * 5, &COUNTRIES),
        pick(number * 7, &STAGES),
        1_000 * (2 + scatter(number * 11, 60)),
        person(400 + number % 5),
        day(100 + scatter(number * 13, 60)),
        prose(number, 2),
    ])
}

/// The leads that the CRM already knows: two in three.
pub(super) fn known_leads() -> impl Iterator<Item = (u64, Value)> {
    (0..LEADS).filter(|number| number % 3 != 1).map(|number| (number, lead(number)))
}
