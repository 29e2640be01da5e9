//! The billing database of a shop.

use serde_json::{Value, json};

use super::calls::CallResult;
use super::invented::{company, day, hash, person, pick, scatter};
use super::rows;

pub(super) const ORDERS: u64 = 900;

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    rows::call(tool, arguments, "orders", (0..ORDERS).map(order).collect())
}

/// Whether an order was paid; three in four were.
pub(super) fn is_paid(number: u64) -> bool {
    scatter(number * 3, 4) != 0
}

fn order(number: u64) -> Value {
    json!({
        "order_id": format!("SO-{}", 20_000 + number),
        "customer_id": 1_000 + scatter(number, 300), "customer": company(scatter(number, 20)),
        "contact": person(scatter(number * 5, 500)),
        "status": if is_paid(number) { "paid" } else { "open" },
        "total_cents": 990 + 10 * scatter(number * 7, 40_000), "currency": "EUR",
        "ordered_at": day(number / 10), "paid_at": is_paid(number).then(|| day(number / 10 + 1)),
        "payment_method": pick(number * 11, &["card", "transfer", "invoice"]),
        "payment_reference": hash(number), "sales_channel": "web",
    })
}
