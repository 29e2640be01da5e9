//! Sales of a day, by region and product.

use serde_json::{Value, json};

use super::calls::{CallResult, text};
use super::invented::scatter;

const PRODUCTS: [&str; 24] = [
    "Desk lamp",
    "Office chair",
    "Standing desk",
    "Monitor arm",
    "Webcam",
    "Headset",
    "Keyboard",
    "Mouse",
    "Laptop stand",
    "Docking station",
    "Cable set",
    "Power strip",
    "Whiteboard",
    "Notebook",
    "Pen set",
    "Bookshelf",
    "Filing cabinet",
    "Footrest",
    "Desk mat",
    "Clock",
    "Coat rack",
    "Plant pot",
    "Air purifier",
    "Kettle",
];

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let (region, day) = (text(arguments, "region")?, text(arguments, "day")?);
    let seed = region
        .bytes()
        .chain(day.bytes())
        .fold(7, |seed: u64, byte| (seed * 31 + u64::from(byte)) % 1_000_003);
    let mut products: Vec<Value> = PRODUCTS
        .iter()
        .zip(0..)
        .map(|(name, at)| {
            let units = scatter(seed + at, 40);
            json!({
                "sku": format!("OF-{:03}", 100 + at), "name": name, "units": units,
                "revenue_cents": units * (1_990 + 500 * at), "returns": scatter(seed + at * 3, 3),
                "stock_left": scatter(seed + at * 5, 60), "category": "office",
            })
        })
        .collect();
    products.sort_by_key(|product| std::cmp::Reverse(product["revenue_cents"].as_u64()));
    Ok(json!({
        "region": region, "day": day, "preliminary": false, "currency": "EUR", "products": products,
    }))
}
