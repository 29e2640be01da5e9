//! A web analytics service: visits of a website by day.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::{day, scatter};

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let (metric, from, to) =
        (text(arguments, "metric")?, text(arguments, "from")?, text(arguments, "to")?);
    let group_by = arguments["group_by"].as_str().unwrap_or("channel");
    let segments = match group_by {
        "country" => ["DE", "FR", "JP", "US"],
        "device" => ["desktop", "phone", "tablet", "tv"],
        _ => ["direct", "search", "social", "email"],
    };
    let most = match metric {
        "visits" => 9_000,
        "signups" => 300,
        "purchases" => 90,
        "revenue_cents" => 400_000,
        _ => return Err(format!("there is no metric '{metric}'")),
    };
    let days = (0..12 * 28).filter(|number| (from..=to).contains(&day(*number).as_str()));
    let rows: Vec<Value> = days
        .flat_map(|number| segments.iter().zip(0..).map(move |(segment, place)| {
            let seed = number * 100 + place * 7 + most + segment.len() as u64;
            json!({ "day": day(number), group_by: segment, "value": most / 3 + scatter(seed, most) })
        }))
        .collect();
    Ok(json!({
        "metric": metric, "from": from, "to": to, "group_by": group_by, "sampled": false,
        "time_zone": "Europe/Berlin", "rows": rows,
    }))
}
