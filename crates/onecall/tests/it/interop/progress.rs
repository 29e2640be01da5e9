//! Progress while a published server takes its time.

use serde_json::{Value, json};

use super::servers::entry;
use crate::support::{Gateway, Home, printed};

#[test]
fn of_a_long_running_operation() {
    let home = Home::new();
    let Some(entry) = entry("everything", &home) else { return };
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    let mut gateway = Gateway::in_home(home);
    let code = "print(await mcp__everything__trigger_long_running_operation(duration=1, steps=4))";
    let arguments = json!({ "code": code });
    let call = gateway.session.start_call_with_progress("execute_program", arguments, "mine");
    assert_eq!(
        printed(&gateway.session.finish_call(call)),
        "Long running operation completed. Duration: 1 seconds, Steps: 4.\n"
    );
    let reports = gateway.session.progress("mine");
    let numbers: Vec<f64> =
        reports.iter().filter_map(|report| report["progress"].as_f64()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{reports:#?}");
    assert_eq!(
        reports.first().map(|report| &report["message"]),
        Some(&Value::from(
            "1 tool call made, last: mcp__everything__trigger_long_running_operation"
        ))
    );
}
