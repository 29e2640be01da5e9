//! The database of the warehouse, which has the shipments of the same orders.

use serde_json::{Value, json};

use super::calls::CallResult;
use super::invented::{day, hash, pick, scatter};
use super::orders_db::{ORDERS, is_paid};
use super::rows;

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    let shipped = (0..ORDERS).filter(|number| is_paid(*number) && scatter(number * 13, 16) != 0);
    rows::call(tool, arguments, "shipments", shipped.map(shipment).collect())
}

fn shipment(number: u64) -> Value {
    json!({
        "shipment_id": 500_000 + number, "order_ref": format!("SO-{}", 20_000 + number),
        "shipped_at": day(number / 10 + 2 + scatter(number * 17, 9)),
        "carrier": pick(number * 19, &["DHL", "UPS", "DPD"]),
        "tracking": format!("00{}{}", hash(number), hash(number + 7)),
        "parcels": 1 + scatter(number * 23, 3), "weight_grams": 300 + scatter(number * 29, 9_000),
        "dock": format!("D{}", 1 + scatter(number * 31, 12)), "picked_by": 40 + scatter(number, 9),
    })
}
