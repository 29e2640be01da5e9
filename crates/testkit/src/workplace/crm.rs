//! A customer relationship system that already knows some of the leads.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::{hash, scatter};
use super::sheets::known_leads;

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    match tool {
        "find_contact" => {
            let email = text(arguments, "email")?.to_lowercase();
            let found = known_leads().filter(|(_, lead)| lead[2] == email);
            let contacts: Vec<Value> = found.map(|(number, lead)| known(number, &lead)).collect();
            Ok(json!({ "total": contacts.len(), "contacts": contacts }))
        }
        "create_contact" => {
            let email = text(arguments, "email")?;
            let id = 9_000 + email.bytes().map(u64::from).sum::<u64>();
            Ok(record(id, arguments))
        }
        _ => {
            let id = text(arguments, "contact_id")?;
            let found = known_leads().find(|(number, _)| (5_000 + number).to_string() == id);
            let (number, lead) = found.ok_or_else(|| format!("no contact has the id {id}"))?;
            let mut contact = known(number, &lead);
            for property in ["stage", "deal_value", "phone", "owner"] {
                if let Some(value) = arguments.get(property) {
                    contact["properties"][property] = value.clone();
                }
            }
            Ok(contact)
        }
    }
}

/// A contact as it was before the trade fair: half of them have changed since.
fn known(number: u64, lead: &Value) -> Value {
    let has_moved = scatter(number * 17, 2) == 0;
    let stage = if has_moved { json!("new") } else { lead[5].clone() };
    let value = if has_moved { json!(500) } else { lead[6].clone() };
    record(
        5_000 + number,
        &json!({
            "email": lead[2], "name": lead[0], "company": lead[1], "phone": lead[3],
            "country": lead[4], "stage": stage, "deal_value": value, "owner": lead[7],
        }),
    )
}

fn record(id: u64, properties: &Value) -> Value {
    let moment = |seed: u64| {
        format!("2026-0{}-{:02}T0{}:12:45.218Z", 1 + seed % 3, 1 + seed % 28, seed % 10)
    };
    json!({
        "id": id.to_string(),
        "properties": {
            "email": properties["email"], "name": properties["name"],
            "company": properties["company"], "phone": properties["phone"],
            "country": properties["country"], "stage": properties["stage"],
            "deal_value": properties["deal_value"], "owner": properties["owner"],
            "lifecycle_stage": "lead", "lead_status": "open", "language": "en",
            "marketing_contact": true, "email_opt_out": false,
            "last_email_opened_at": moment(scatter(id, 97)),
            "last_activity_at": moment(scatter(id * 3, 97)),
            "page_views": scatter(id * 5, 60), "sessions": scatter(id * 7, 20),
            "original_source": "offline", "utm_campaign": "trade-fair-spring",
        },
        "associations": {
            "company": { "id": (70_000 + scatter(id, 900)).to_string(), "label": "primary" },
            "deals": [{ "id": (80_000 + id).to_string(), "pipeline": "default" }],
        },
        "created_at": moment(scatter(id * 11, 97)), "updated_at": moment(scatter(id * 13, 97)),
        "archived": false, "etag": format!("W/\"{}\"", hash(id)),
        "url": format!("https://crm.example/contacts/{id}"),
    })
}
