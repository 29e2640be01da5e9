//! Exchange rates, from a service that refuses every third request.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use serde_json::{Value, json};

use super::calls::{CallResult, text};

/// The value of one euro in each currency, in ten-thousandths.
const RATES: [(&str, u64); 5] =
    [("USD", 10_920), ("GBP", 8_560), ("CHF", 9_480), ("JPY", 1_642_500), ("SEK", 113_400)];

static REQUEST_NUMBER: AtomicU64 = AtomicU64::new(1);

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    if REQUEST_NUMBER.fetch_add(1, SeqCst).is_multiple_of(3) {
        return Err("429 Too Many Requests".to_owned());
    }
    let currency = text(arguments, "currency")?;
    let found = RATES.iter().find(|(known, _)| *known == currency);
    let (_, rate) = found.ok_or_else(|| format!("there is no rate for '{currency}'"))?;
    Ok(json!({ "base": "EUR", "currency": currency, "rate": *rate as f64 / 10_000.0 }))
}
