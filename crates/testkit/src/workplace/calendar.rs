//! Calendars that are nearly full.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::{hash, pick, scatter};

const TITLES: [&str; 8] = [
    "Stand-up",
    "Customer call",
    "Design review",
    "One-on-one",
    "Interview",
    "Planning",
    "Focus time",
    "Budget meeting",
];
/// Monday, 6 April 2026, and the Friday of the week after.
const FIRST_DAY: u64 = 6;
const WORKDAYS: [u64; 10] = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11];

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    if tool == "create_event" {
        let (title, start) = (text(arguments, "title")?, text(arguments, "start")?);
        return Ok(json!({
            "id": format!("evt_{}", hash(title.len() as u64)), "status": "confirmed",
            "title": title, "start": start, "end": arguments["end"],
            "attendees": arguments["attendees"], "location": "video conference",
            "link": format!("https://meet.example/{}", hash(start.len() as u64)),
        }));
    }
    let (person, from, to) =
        (text(arguments, "person")?, text(arguments, "from")?, text(arguments, "to")?);
    let seed = person.bytes().fold(3, |seed: u64, byte| (seed * 31 + u64::from(byte)) % 1_000_003);
    let days = WORKDAYS.iter().map(|day| FIRST_DAY + day);
    let events: Vec<Value> = days
        .flat_map(|day| (9..17).map(move |hour| (day, hour)))
        // The second Wednesday has fewer meetings.
        .filter(|(day, hour)| {
            scatter(seed * 100 + day * 24 + hour, 10) < if *day == 15 { 1 } else { 4 }
        })
        .map(|(day, hour)| event(seed, day, hour))
        .filter(|event| {
            event["start"].as_str().is_some_and(|start| start >= from && &start[..10] <= to)
        })
        .collect();
    Ok(json!({ "person": person, "time_zone": "Europe/Berlin", "events": events }))
}

fn event(seed: u64, day: u64, hour: u64) -> Value {
    let seed = seed * 1_000 + day * 24 + hour;
    let minutes = [30, 30, 45, 60][scatter(seed, 4) as usize];
    let end = hour * 60 + minutes;
    json!({
        "id": format!("evt_{}", hash(seed)), "title": pick(seed * 3, &TITLES),
        "start": format!("2026-04-{day:02}T{hour:02}:00"),
        "end": format!("2026-04-{day:02}T{:02}:{:02}", end / 60, end % 60),
        "response": pick(seed * 5, &["accepted", "accepted", "tentative", "declined"]),
        "organizer": format!("{}@acme.example", hash(seed * 7)), "recurring": scatter(seed, 2) == 0,
        "location": "video conference", "attendees": 2 + scatter(seed * 11, 9),
    })
}
