//! Workflow: one small question to each of six tools. With direct calls an agent can call them at
//! once; with onecall it first reads six signatures, which costs more than it saves.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

const DAY: &str = "2026-04-06";

pub const WORKFLOW: Workflow = Workflow {
    name: "morning-briefing",
    is_data_heavy: false,
    services: &["office", "team"],
    searches: &[
        "weather forecast, departures and canteen menu",
        "who is on call, absences and system status of a team",
    ],
    uses: &[
        "office.get_forecast",
        "office.next_departures",
        "office.get_menu",
        "team.who_is_on_call",
        "team.list_absences",
        "team.get_system_status",
    ],
    questions: &[Question {
        text: "Good morning! It is 2026-04-06 and I am in Berlin. What about the weather, the next tram \
               from Market Square after 8:00, lunch, and in the team platform: who is on call, who is \
               away, what is broken?",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let results = agent.call_all(vec![
        ("office.get_forecast", json!({ "city": "Berlin", "day": DAY })),
        ("office.next_departures", json!({ "stop": "Market Square", "after": "08:00" })),
        ("office.get_menu", json!({ "day": DAY })),
        ("team.who_is_on_call", json!({ "team": "platform" })),
        ("team.list_absences", json!({ "team": "platform", "day": DAY })),
        ("team.get_system_status", json!({ "team": "platform" })),
    ])?;
    let [weather, trams, menu, duty, absences, status] = results.as_slice() else {
        return Err("six calls have six results".to_owned());
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names = |value: &Value| {
        let items = value.as_array().into_iter().flatten();
        items.map(|item| text(&item["name"])).collect::<Vec<_>>().join(", ")
    };
    let tram = &trams["departures"][0];
    Ok([
        format!("{} to {} degrees, {}", weather["low"], weather["high"], text(&weather["text"])),
        format!("{} at {}", text(&tram["line"]), text(&tram["time"])),
        names(&menu["dishes"]),
        format!("on call: {}", text(&duty["primary"])),
        format!("away: {}", names(&absences["absences"])),
        format!("broken: {}", names(&status["systems"])),
    ]
    .join("\n"))
}
