//! A program that embeds the runtime, built and run as its reader would.

use std::process::Command;

use serde_json::{Value, json};
use testkit::bins;

#[test]
fn the_example_runs_a_program_with_its_own_tools() {
    // `cargo test` builds it; `cargo test --test it` needs `--examples` beside it.
    let output = Command::new(bins::find("examples/embed")).output().expect("the example starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("a transcript");
    assert_eq!(outcome["error"], Value::Null);
    assert_eq!(outcome["stdout"], "2 orders, 225.00 EUR\n");
    assert_eq!(outcome["return_value"], 225.0);
    let calls = outcome["tool_calls"].as_array().expect("calls");
    let made: Vec<_> = calls.iter().map(|call| (&call["tool_name"], &call["args"])).collect();
    assert_eq!(
        made,
        [
            (&json!("find_orders"), &json!({ "region": "EU" })),
            (&json!("exchange_rate"), &json!({ "currency": "EUR" })),
            (&json!("exchange_rate"), &json!({ "currency": "SEK" })),
        ]
    );
}
