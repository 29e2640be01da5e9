//! Arguments against the schema of their tool: what cannot fit is told before anything is
//! sent, and what the program leaves out is not there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod support;

use serde_json::json;
use support::Gateway;

#[test]
fn what_does_not_fit_is_told_and_not_sent() {
    let (mut gateway, log) = Gateway::recorded(&json!({}));
    let code = "
        year = '2024'
        try:
            await mcp__fixture__query_sales(region='Nord', year=year)
        except ToolError as error:
            print(error)
    ";
    insta::assert_snapshot!(gateway.prints(code), @r#"
    'mcp__fixture__query_sales' failed: it was not called, because its arguments do not fit:
      region: "Nord" is not one of "North", "South", "East", "West"
      year: "2024" is of type string, not integer
      await mcp__fixture__query_sales(region: Literal['North', 'South', 'East', 'West'] | None = None, year: int | None = None) -> Any
    "#);
    assert_eq!(log.calls("query_sales"), 0);
    gateway.prints("await mcp__fixture__query_sales(region='North', year=2024)");
    assert_eq!(log.calls("query_sales"), 1, "this is where a call would show");
}

#[test]
fn what_is_missing_is_told() {
    let code = "
        arguments = {}
        await mcp__fixture__get_expenses(arguments)
    ";
    let failure = Gateway::new().fails(code);
    let error = failure.split_once("ToolError: ").expect("a ToolError").1;
    insta::assert_snapshot!(error, @r#"
    'mcp__fixture__get_expenses' failed: it was not called, because its arguments do not fit:
      'employee_id' is missing
      'quarter' is missing
      await mcp__fixture__get_expenses(employee_id: str, quarter: Literal['Q1', 'Q2', 'Q3', 'Q4']) -> Any
    "#);
}

#[test]
fn none_for_what_is_optional_is_left_out() {
    let (mut gateway, log) = Gateway::recorded(&json!({}));
    let code = "
        await mcp__fixture__query_sales(region=None, year=2024)
        await mcp__fixture__list_employees(None)
        await mcp__fixture__raw_arguments(none=None, big=10**25)
        await mcp__fixture__echo(value=None)
    ";
    gateway.prints(code);
    let sent = |tool: &str| log.wait_for_call(tool)["params"]["arguments"].to_string();
    assert_eq!(sent("query_sales"), r#"{"year":2024}"#);
    assert_eq!(sent("list_employees"), "{}");
    assert_eq!(sent("echo"), r#"{"value":null}"#, "a required argument is sent as it is");
    assert!(log.text().contains(r#"{"none":null,"big":10000000000000000000000000}"#));
}

#[test]
fn a_plan_is_held_to_the_same_rules() {
    let (mut gateway, log) = Gateway::recorded(&json!({}));
    let mut proxy = |arguments| {
        let plan = json!({ "target_tool": "query_sales", "tool_args": arguments });
        gateway.session.call_tool("proxy", plan)
    };
    let answer = proxy(json!({ "region": null, "year": 2024 }));
    assert!(!answer.is_error, "{}", answer.text);
    let sent = log.wait_for_call("query_sales");
    assert_eq!(sent["params"]["arguments"], json!({ "year": 2024 }));

    // Known only when the plan runs.
    let year = json!({ "__tool__": "echo", "args": { "value": "never" } });
    let answer = proxy(json!({ "year": year }));
    let told = r#"year: "never" is of type string, not integer"#;
    assert!(answer.is_error && answer.text.contains(told), "{}", answer.text);
    assert_eq!(log.calls("query_sales"), 1);
}
