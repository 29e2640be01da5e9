//! Workflow: sends the sales of a day to the channel of every region, and all of them to
//! management.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

const REGIONS: [&str; 6] = ["north", "south", "east", "west", "central", "islands"];

pub const WORKFLOW: Workflow = Workflow {
    name: "nightly-report",
    is_data_heavy: false,
    services: &["sales", "chat"],
    searches: &["sales of a region on a day", "post a message to a channel"],
    uses: &["sales.get_daily_sales", "chat.post_message"],
    questions: &[Question {
        text: "Send the nightly report for 2026-03-27. For each region (north, south, east, west, \
               central, islands) post to #sales-<region>: `*<region> 2026-03-27*: <revenue> EUR, \
               <units> units. Top: <three products by revenue>. Low stock: <how many products have \
               fewer than 10 left>`. Post the totals to #management as `*2026-03-27*: <revenue> EUR, \
               best region <region>`. Then tell me what you posted there.",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let days = REGIONS.map(|region| json!({ "region": region, "day": "2026-03-27" }));
    let sales = agent.call_each("sales.get_daily_sales", days)?;
    let mut messages = Vec::new();
    let (mut total, mut best) = (0, (0, ""));
    for (region, sales) in REGIONS.into_iter().zip(&sales) {
        let products = sales["products"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sum = |name: &str| products.iter().filter_map(|one| one[name].as_u64()).sum::<u64>();
        let (cents, units) = (sum("revenue_cents"), sum("units"));
        total += cents;
        best = best.max((cents, region));
        let top: Vec<&str> =
            products.iter().take(3).filter_map(|one| one["name"].as_str()).collect();
        let is_low = |one: &&Value| one["stock_left"].as_u64().is_some_and(|left| left < 10);
        let low = products.iter().filter(is_low).count();
        let text = format!(
            "*{region} 2026-03-27*: {} EUR, {units} units. Top: {}. Low stock: {low}",
            euros(cents),
            top.join(", ")
        );
        messages.push(json!({ "channel": format!("#sales-{region}"), "text": text }));
    }
    let text = format!("*2026-03-27*: {} EUR, best region {}", euros(total), best.1);
    messages.push(json!({ "channel": "#management", "text": text }));
    agent.call_each("chat.post_message", messages)?;
    Ok(text)
}

fn euros(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
