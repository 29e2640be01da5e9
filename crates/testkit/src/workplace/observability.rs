//! Logs of five services, one of which fails after a deployment and affects the others.

use serde_json::{Value, json};

use super::calls::{CallResult, page, text};
use super::invented::{hash, person, scatter};

/// The services, in the order in which the failure reached them.
const SERVICES: [&str; 5] = ["inventory", "cart", "checkout", "gateway", "web"];
const ERRORS: u64 = 260;
/// The second of the day at which the first request fails: 14:02:10.
const FIRST: u64 = 14 * 3_600 + 130;

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    if tool == "list_deployments" {
        let deployments: Vec<Value> = (0..6).map(deployment).collect();
        return Ok(json!({ "deployments": deployments }));
    }
    let service = text(arguments, "service")?;
    let place = SERVICES.iter().position(|known| *known == service);
    let place = place.ok_or_else(|| format!("no service is called '{service}'"))? as u64;
    if arguments["level"] != "error" {
        return Err("too many lines: give a level".to_owned());
    }
    // Not every request reaches the first service.
    let failed: Vec<u64> =
        (0..ERRORS).filter(|number| scatter(number * 7 + place, 8) != 0).collect();
    page("lines", failed.into_iter().map(|number| line(place, number)), arguments, 100)
}

fn line(place: u64, number: u64) -> Value {
    let service = SERVICES[place as usize];
    let trace = format!("{}{}", hash(number), hash(number + 5_000));
    let message = match place {
        0 => format!("connection pool exhausted after {} ms", 5_000 + scatter(number, 90)),
        1 => "GET http://inventory/reserve: 503 Service Unavailable, giving up after 3 attempts"
            .to_owned(),
        2 => "could not price the cart: upstream error from cart".to_owned(),
        3 => format!("POST /v1/orders 502 in {} ms", 15_000 + scatter(number * 3, 900)),
        _ => "order failed, showing the apology page".to_owned(),
    };
    json!({
        "time": time(FIRST + number * 3 + place), "level": "error", "service": service,
        "message": message, "trace_id": trace, "span_id": hash(number * 10 + place),
        "host": format!("{service}-{}", 1 + scatter(number, 4)), "version": format!("4.{}.0", 10 + place),
        "region": "eu-central-1", "attributes": { "customer": 10_000 + scatter(number * 11, 5_000), "retry": number % 3 },
    })
}

fn deployment(number: u64) -> Value {
    let service = ["web", "cart", "inventory", "search", "checkout", "inventory"][number as usize];
    let second = FIRST - 9_000 + number * 2_400;
    json!({
        "id": format!("dep-{}", hash(number)), "service": service, "environment": "production",
        "version": format!("4.{}.{number}", 10 + number), "time": time(second), "canary": false,
        "by": person(number + 9), "commit": hash(number + 77),
        "changes": [format!("{service}: {}", ["new banner", "faster totals", "smaller connection pool", "synonyms", "tax rounding", "back to the large pool"][number as usize])],
    })
}

fn time(second: u64) -> String {
    format!("2026-03-18T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}
