//! Workflow: finds and books the first hour in two weeks in which nine people are free.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

const PEOPLE: [&str; 9] =
    ["amara", "bruno", "chiara", "dmitri", "elena", "farid", "grace", "hiroshi", "ingrid"];

pub const WORKFLOW: Workflow = Workflow {
    name: "schedule-meeting",
    is_data_heavy: false,
    services: &["calendar"],
    searches: &["calendar events of a person, create an event"],
    uses: &["calendar.list_events", "calendar.create_event"],
    questions: &[Question {
        text: "Find the first full hour, on a workday between 9:00 and 17:00 from 2026-04-06 to \
               2026-04-17, in which amara, bruno, chiara, dmitri, elena, farid, grace, hiroshi and \
               ingrid (all @acme.example) are free; what they declined does not count. Create an \
               event 'Launch review' then, invite them all, and tell me when it is.",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let people = PEOPLE.map(|name| format!("{name}@acme.example"));
    let periods = people
        .iter()
        .map(|person| json!({ "person": person, "from": "2026-04-06", "to": "2026-04-17" }));
    let calendars = agent.call_each("calendar.list_events", periods)?;
    let events: Vec<&Value> =
        calendars.iter().filter_map(|calendar| calendar["events"].as_array()).flatten().collect();
    let busy: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["response"] != "declined")
        .filter_map(|event| Some((event["start"].as_str()?, event["end"].as_str()?)))
        .collect();
    let days = (6..=10).chain(13..=17);
    let hours = days.flat_map(|day| (9..17).map(move |hour| (day, hour)));
    let (start, end) = hours
        .map(|(day, hour)| {
            (
                format!("2026-04-{day:02}T{hour:02}:00"),
                format!("2026-04-{day:02}T{:02}:00", hour + 1),
            )
        })
        .find(|(start, end)| {
            busy.iter().all(|(from, to)| *to <= start.as_str() || *from >= end.as_str())
        })
        .ok_or("nobody ever has time")?;
    let event =
        json!({ "title": "Launch review", "start": start, "end": end, "attendees": people });
    agent.call("calendar.create_event", event)?;
    Ok(format!("Launch review at {start}"))
}
