//! A shop whose orders are looked up one at a time.

use serde_json::{Value, json};

use super::calls::{CallResult, text};

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let order = text(arguments, "order_number")?;
    if order != "SO-10482" {
        return Err(format!("order {order} was not found"));
    }
    Ok(json!({
        "order_number": order, "status": "shipped", "carrier": "DHL",
        "tracking": "00340434161094022115", "expected_on": "2026-04-02",
        "items": [
            { "sku": "KB-84-ISO", "name": "Keyboard, 84 keys", "quantity": 1, "price": 89.9 },
            { "sku": "CB-USBC-2", "name": "Cable, USB-C, 2 m", "quantity": 2, "price": 11.5 },
        ],
    }))
}
