//! Progress while a published server takes its time.

use serde_json::{Value, json};

use super::servers::entry;
use crate::support::{Gateway, Home, printed};

#[test]
fn of_a_long_running_operation() {
    let home = Home::new();
    let Some(entry) = entry("everything", &home) else { return };
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    let mut gateway = Gateway::at(home);
    let code = "print(await mcp__everything__trigger_long_running_operation(duration=1, steps=4))";
    let arguments = json!({ "code": code });
    let call = gateway.session.start_call_with_progress("execute_program", arguments, "mine");
    assert_eq!(
        printed(&gateway.session.finish_call(call)),
        "Long running operation completed. Duration: 1 seconds, Steps: 4.\n"
    );
    let told = gateway.session.progress("mine");
    let numbers: Vec<f64> = told.iter().filter_map(|told| told["progress"].as_f64()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{told:#?}");
    assert_eq!(
        told.first().map(|told| &told["message"]),
        Some(&Value::from(
            "1 tool call made, last: mcp__everything__trigger_long_running_operation"
        ))
    );
}
