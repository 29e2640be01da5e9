//! A department, the expenses of its members in a quarter, and their budgets.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::{address, day, hash, person, pick, scatter};

const MEMBERS: u64 = 24;
const LEVELS: [(&str, u64); 4] =
    [("junior", 240_000), ("senior", 360_000), ("staff", 450_000), ("director", 600_000)];
const CATEGORIES: [&str; 5] = ["travel", "meals", "lodging", "software", "equipment"];
const MERCHANTS: [&str; 8] = [
    "Intercity Rail",
    "Blue Taxi",
    "Hotel Meridian",
    "Cafe Aurora",
    "Airline North",
    "Printworks",
    "Office Supply Co",
    "City Parking",
];

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    match tool {
        "list_team" => {
            if text(arguments, "department")? != "Engineering" {
                return Err("no such department".to_owned());
            }
            let members: Vec<Value> = (0..MEMBERS).map(member).collect();
            Ok(json!({ "department": "Engineering", "members": members }))
        }
        "get_expenses" => {
            let id = text(arguments, "employee_id")?;
            let quarter = text(arguments, "quarter")?;
            let number = (0..MEMBERS).find(|number| format!("E{}", 1_040 + number) == id);
            let number = number.ok_or_else(|| format!("no employee has the number {id}"))?;
            let wanted = arguments["category"].as_str();
            let lines: Vec<Value> = (0..40 + scatter(number, 25))
                .map(|line| expense(number, line))
                .filter(|line| wanted.is_none_or(|wanted| line["category"] == wanted))
                .collect();
            Ok(json!({ "employee_id": id, "quarter": quarter, "lines": lines }))
        }
        _ => {
            let level = text(arguments, "level")?;
            let known = LEVELS.iter().find(|(known, _)| *known == level);
            let (_, cents) = known.ok_or_else(|| format!("no budget for level '{level}'"))?;
            let limits = json!({ "travel": cents, "meals": cents / 4, "lodging": cents / 2 });
            Ok(json!({ "level": level, "year": 2026, "currency": "EUR", "limits": limits }))
        }
    }
}

fn member(number: u64) -> Value {
    let name = person(number + 50);
    json!({
        "employee_id": format!("E{}", 1_040 + number), "name": name,
        "email": address(&name, "acme.example"),
        "level": LEVELS[scatter(number * 3, 4) as usize].0, "department": "Engineering",
        "title": "Software Engineer", "manager": person(50 + number / 6),
        "office": pick(number * 5, &["Berlin", "Lyon", "Osaka"]),
        "cost_center": format!("CC-{}", 300 + number % 4), "since": day(scatter(number * 7, 300)),
    })
}

fn expense(number: u64, line: u64) -> Value {
    let seed = number * 1_000 + line;
    let status =
        pick(seed * 5, &["approved", "approved", "approved", "approved", "rejected", "pending"]);
    json!({
        "line_id": format!("X{}", 70_000 + seed), "date": day(scatter(seed, 84)),
        "category": pick(seed * 3, &CATEGORIES), "status": status,
        "cents": 900 + scatter(seed * 7, 62_000), "currency": "EUR",
        "merchant": pick(seed * 11, &MERCHANTS),
        "receipt": { "file": format!("receipt-{}.pdf", hash(seed)), "pages": 1 },
        "project": format!("P-{}", 10 + scatter(seed * 13, 30)),
        "reason": (status == "rejected").then_some("no receipt for the full amount"),
    })
}
