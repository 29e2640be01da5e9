//! Workflow: joins rows of two independent databases.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "join-databases",
    is_data_heavy: false,
    services: &["orders_db", "warehouse_db"],
    searches: &["read rows of the orders database", "read rows of the warehouse database"],
    uses: &[
        "orders_db.describe_table",
        "orders_db.select_rows",
        "warehouse_db.describe_table",
        "warehouse_db.select_rows",
    ],
    questions: &[Question {
        text: "Which orders were paid but never shipped? Orders are in the table orders of the orders \
               database, shipments in the table shipments of the warehouse database. Tell me how many, \
               their total, the oldest one, and the three customers with most of the money.",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    agent.call_all(vec![
        ("orders_db.describe_table", json!({ "table": "orders" })),
        ("warehouse_db.describe_table", json!({ "table": "shipments" })),
    ])?;
    let columns = ["order_id", "customer", "total_cents", "paid_at"];
    let paid = json!({ "table": "orders", "columns": columns, "where": { "status": "paid" } });
    let shipped = json!({ "table": "shipments", "columns": ["order_ref"] });
    let queries = vec![("orders_db.select_rows", paid), ("warehouse_db.select_rows", shipped)];
    let lists = agent.pages_of_each(queries, "rows")?;
    let [paid, shipped] = lists.as_slice() else {
        return Err("two queries have two lists".to_owned());
    };
    let shipped: BTreeSet<&str> =
        shipped.iter().filter_map(|row| row["order_ref"].as_str()).collect();
    let is_missing =
        |row: &&Value| row["order_id"].as_str().is_some_and(|id| !shipped.contains(id));
    let missing: Vec<&Value> = paid.iter().filter(is_missing).collect();
    let cents = |row: &Value| row["total_cents"].as_u64().unwrap_or_default();
    let mut by_customer: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &missing {
        *by_customer.entry(row["customer"].as_str().unwrap_or_default()).or_default() += cents(row);
    }
    let mut customers: Vec<(&str, u64)> = by_customer.into_iter().collect();
    customers.sort_by_key(|(_, cents)| std::cmp::Reverse(*cents));
    let total: u64 = missing.iter().map(|row| cents(row)).sum();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let oldest = missing.iter().min_by_key(|row| (text(row, "paid_at"), text(row, "order_id")));
    let oldest = oldest.map(|row| text(row, "order_id")).unwrap_or_default();
    let count = missing.len();
    let mut lines = vec![format!("{count} orders, {} EUR, oldest {oldest}", euros(total))];
    lines.extend(
        customers.iter().take(3).map(|(name, cents)| format!("{name}: {} EUR", euros(*cents))),
    );
    Ok(lines.join("\n"))
}

fn euros(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
