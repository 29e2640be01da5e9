//! The tickets of one month of support.

use serde_json::{Value, json};

use super::calls::{CallResult, number, page};
use super::invented::{address, company, domain, person, pick, prose, scatter};

const TICKETS: u64 = 200;
const AREAS: [&str; 6] =
    ["billing", "exports", "sign-in", "notifications", "mobile", "integrations"];
const COMPLAINTS: [&str; 5] = [
    "The page stays empty after I press the button and nothing is in the console.",
    "This worked until the update last week, and nobody told us that it would change.",
    "We are losing an hour a day because of this, please treat it as urgent.",
    "I have attached the file that shows it; it happens with every file of that kind.",
    "Our auditors ask for this by the end of the month.",
];

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let size = number(arguments, "limit", 25, 25);
    page("tickets", (0..TICKETS as usize).map(|number| ticket(number as u64)), arguments, size)
}

fn ticket(number: u64) -> Value {
    let (name, company) = (person(scatter(number, 500)), company(scatter(number * 3, 20)));
    // A few areas have most of the tickets.
    let area = AREAS[(scatter(number * 5, 6).min(scatter(number * 7, 6))) as usize];
    let first_reply = 20 + scatter(number * 11, 1_000) * scatter(number * 13, 4);
    let is_solved = scatter(number * 17, 5) != 0;
    let complaint = pick(number * 19, &COMPLAINTS);
    json!({
        "id": 41_000 + number,
        "subject": format!("{} does not work as expected for {company}", area.replace('-', " ")),
        "body": format!(
            "Hello,\n\n{} {complaint} {}\n\nWhat we tried: {}\n\nKind regards\n{name}, {company}",
            prose(number, 6), prose(number + 900, 6), prose(number + 1_800, 4)
        ),
        "area": area, "tags": [area, format!("v{}", 3 + scatter(number * 23, 3)), "web-form"],
        "priority": pick(number * 29, &["low", "normal", "normal", "high"]),
        "status": if is_solved { "solved" } else { "open" },
        "requester": { "name": name, "email": address(&name, &domain(company)), "plan": "team" },
        "assignee": person(600 + scatter(number * 31, 7)),
        "created_at": format!("2026-03-{:02}T{:02}:05:00Z", number * 28 / TICKETS + 1, number % 24),
        "first_reply_minutes": first_reply,
        "solved_after_minutes": is_solved.then(|| first_reply + scatter(number * 37, 9_000)),
        "satisfaction": (is_solved && number.is_multiple_of(3)).then(|| 1 + scatter(number * 41, 5)),
        "via": "web", "organization": company, "reopened": scatter(number * 43, 9) == 0,
        "url": format!("https://support.example/tickets/{}", 41_000 + number),
    })
}
