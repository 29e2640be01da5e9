//! Workflow: summarises two hundred tickets of a month.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "ticket-summary",
    is_data_heavy: true,
    services: &["helpdesk"],
    searches: &["list support tickets"],
    uses: &["helpdesk.list_tickets"],
    questions: &[Question {
        text: "Summarise the support tickets of March 2026: for every area how many there were, how \
               many are unsolved, the median time to the first reply in minutes, and how many waited \
               longer than a day for it. Most tickets first. Then: how many were reopened, and how \
               many mention the update of last week?",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let march = json!({ "created_from": "2026-03-01", "created_to": "2026-03-31" });
    let tickets = agent.pages("helpdesk.list_tickets", march, "tickets")?;
    let mut areas: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for ticket in &tickets {
        areas.entry(ticket["area"].as_str().unwrap_or_default()).or_default().push(ticket);
    }
    let mut areas: Vec<_> = areas.into_iter().collect();
    areas.sort_by_key(|(_, tickets)| std::cmp::Reverse(tickets.len()));
    let mut lines: Vec<String> =
        areas.iter().map(|(area, tickets)| summary(area, tickets)).collect();
    let reopened = tickets.iter().filter(|ticket| ticket["reopened"] == true).count();
    let mention = |ticket: &&Value| {
        ticket["body"].as_str().is_some_and(|body| body.contains("until the update last week"))
    };
    let mentions = tickets.iter().filter(mention).count();
    lines.push(format!("reopened: {reopened}, mention the update: {mentions}"));
    Ok(lines.join("\n"))
}

fn summary(area: &str, tickets: &[&Value]) -> String {
    let mut minutes: Vec<u64> =
        tickets.iter().filter_map(|ticket| ticket["first_reply_minutes"].as_u64()).collect();
    minutes.sort_unstable();
    // The lower of the two middle values.
    let median = minutes.get((minutes.len() - 1) / 2).copied().unwrap_or_default();
    let late = minutes.iter().filter(|minutes| **minutes > 24 * 60).count();
    let unsolved = tickets.iter().filter(|ticket| ticket["status"] != "solved").count();
    format!(
        "{area}: {} tickets, {unsolved} unsolved, median {median} min, {late} late",
        tickets.len()
    )
}
