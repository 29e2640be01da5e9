//! Workflow: one small question that one call answers; only definitions can be saved.

use serde_json::json;

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "order-lookup",
    is_data_heavy: false,
    services: &["shop"],
    searches: &["status of a shop order"],
    uses: &["shop.get_order"],
    questions: &[Question {
        text: "Where is my order SO-10482?",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let order = agent.call("shop.get_order", json!({ "order_number": "SO-10482" }))?;
    let said = |name: &str| order[name].as_str().unwrap_or_default().to_owned();
    let (status, carrier, day) = (said("status"), said("carrier"), said("expected_on"));
    Ok(format!("{status} with {carrier}, expected on {day}"))
}
