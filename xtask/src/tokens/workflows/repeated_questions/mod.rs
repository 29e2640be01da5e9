//! Workflow: six questions about one website in one conversation. With direct calls, one of them
//! can be answered from results that are already in the context.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "repeated-questions",
    is_data_heavy: false,
    services: &["analytics"],
    searches: &["website metrics by day"],
    uses: &["analytics.query_metric"],
    questions: &[
        Question {
            text: "Which channel brought most visits from 2026-02-01 to 2026-03-14?",
            programs: &[include_str!("look.py"), include_str!("1.py")],
            direct: |agent| {
                let totals = totals(&six_weeks(agent, "visits", "channel")?, "channel");
                largest(&totals)
            },
        },
        Question {
            text: "And how do the devices compare in revenue in the same time?",
            programs: &[include_str!("2.py")],
            direct: |agent| {
                let totals = totals(&six_weeks(agent, "revenue_cents", "device")?, "device");
                Ok(list(&totals))
            },
        },
        Question {
            text: "What was the best day for visits over all channels?",
            programs: &[include_str!("3.py")],
            direct: |agent| {
                let totals = totals(&six_weeks(agent, "visits", "channel")?, "day");
                largest(&totals)
            },
        },
        Question {
            text: "How did signups by channel change from January to February?",
            programs: &[include_str!("4.py")],
            direct: |agent| {
                let month = |agent: &mut DirectAgent, first, last| {
                    let found = metric(agent, "signups", (first, last), "channel")?;
                    Ok::<_, String>(totals(&found, "channel"))
                };
                let before = month(agent, "2026-01-01", "2026-01-31")?;
                let now = month(agent, "2026-02-01", "2026-02-28")?;
                let change = |(name, now): (&String, &u64)| {
                    let before = before.get(name).copied().unwrap_or_default();
                    format!("{name} {:+.1}%", 100.0 * (*now as f64 / before as f64 - 1.0))
                };
                Ok(now.iter().map(change).collect::<Vec<_>>().join(", "))
            },
        },
        Question {
            text: "How many purchases came from each country from 2026-02-01 to 2026-03-14?",
            programs: &[include_str!("5.py")],
            direct: |agent| {
                let totals = totals(&six_weeks(agent, "purchases", "country")?, "country");
                Ok(list(&totals))
            },
        },
        Question {
            text: "What is the revenue per purchase in these countries?",
            programs: &[include_str!("6.py")],
            direct: |agent| {
                let purchases = totals(&six_weeks(agent, "purchases", "country")?, "country");
                let revenue = totals(&six_weeks(agent, "revenue_cents", "country")?, "country");
                let each = |(name, cents): (&String, &u64)| {
                    let count = purchases.get(name).copied().unwrap_or_default();
                    format!("{name} {:.2}", *cents as f64 / count as f64 / 100.0)
                };
                Ok(revenue.iter().map(each).collect::<Vec<_>>().join(", "))
            },
        },
    ],
};

fn six_weeks(agent: &mut DirectAgent, name: &str, group_by: &str) -> Result<Value, String> {
    metric(agent, name, ("2026-02-01", "2026-03-14"), group_by)
}

fn metric(
    agent: &mut DirectAgent,
    name: &str,
    (from, to): (&str, &str),
    group_by: &str,
) -> Result<Value, String> {
    let arguments = json!({ "metric": name, "from": from, "to": to, "group_by": group_by });
    agent.call("analytics.query_metric", arguments)
}

fn totals(result: &Value, group_by: &str) -> BTreeMap<String, u64> {
    let mut totals = BTreeMap::new();
    for row in result["rows"].as_array().into_iter().flatten() {
        let name = row[group_by].as_str().unwrap_or_default().to_owned();
        *totals.entry(name).or_default() += row["value"].as_u64().unwrap_or_default();
    }
    totals
}

fn largest(totals: &BTreeMap<String, u64>) -> Result<String, String> {
    let (name, value) = totals.iter().max_by_key(|(_, value)| **value).ok_or("no rows")?;
    Ok(format!("{name}: {value}"))
}

fn list(totals: &BTreeMap<String, u64>) -> String {
    let each = totals.iter().map(|(name, value)| format!("{name} {value}"));
    each.collect::<Vec<_>>().join(", ")
}
