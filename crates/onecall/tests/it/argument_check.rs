//! The check of arguments against the schema of their tool: a mismatch is an error before the call
//! is sent, and arguments that the program leaves out are not sent.

use serde_json::json;

use crate::support::{Gateway, Home, failed, fixture};

#[test]
fn what_does_not_fit_is_told_and_not_sent() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
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
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
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
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
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
    let expected = r#"year: "never" is of type string, not integer"#;
    assert!(answer.is_error && answer.text.contains(expected), "{}", answer.text);
    assert_eq!(log.calls("query_sales"), 1);
}

#[test]
fn what_a_server_may_read_as_its_type_is_passed_on() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    // Known before the run, and known only then.
    let code = "
        year = str(2024)
        await mcp__fixture__query_sales(region='North', year='2024')
        await mcp__fixture__query_sales(region='North', year=year)
    ";
    let failure = gateway.fails(code);
    insta::assert_snapshot!(failure, @r#"
    Traceback (most recent call last):
      File "<program>", line 2, in <module>
        await mcp__fixture__query_sales(region='North', year='2024')
    ToolError: 'mcp__fixture__query_sales' failed: invalid arguments for 'query_sales': invalid type: string "2024", expected u64 at line 1 column 31
      'year' was sent as the string '2024'; the schema says integer
    "#);
    assert_eq!(log.calls("query_sales"), 1, "the program ended there");
    let sent = log.wait_for_call("query_sales");
    assert_eq!(sent["params"]["arguments"], json!({ "region": "North", "year": "2024" }));

    let typescript = "await mcp__fixture__query_sales({ year: '2024' })";
    let failure = failed(&gateway.execute_typescript(typescript));
    let note = "'year' was sent as the string '2024'; the schema says integer";
    assert!(failure.lines().any(|line| line.trim() == note), "{failure}");

    let plan = json!({ "target_tool": "query_sales", "tool_args": { "year": "2024" } });
    let answer = gateway.session.call_tool("proxy", plan);
    assert!(answer.is_error && answer.text.contains(note), "{}", answer.text);
}

#[test]
fn a_server_that_reads_text_as_numbers_gets_the_text() {
    let home = Home::new();
    let schema = json!({ "type": "object", "properties": {
        "limit": { "type": "integer" }, "tags": { "type": "array" }, "all": { "type": "boolean" },
    }});
    let tools = json!([{ "name": "raw_arguments", "inputSchema": schema }]);
    home.write("tools", tools.to_string());
    let servers = json!([fixture("fixture", &["--tools-file", &home.text_path("tools")])]);
    home.write("config.json", json!({ "servers": servers }).to_string());
    let mut gateway = Gateway::in_home(home);
    let code = r#"
        print(await mcp__fixture__raw_arguments(limit="3", tags='["a"]', all="yes"))
        print(tools.raw_arguments(limit=True, all=1))
    "#;
    let expected = "{'limit': '3', 'tags': '[\"a\"]', 'all': 'yes'}\n{'limit': True, 'all': 1}\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn a_local_tool_gets_only_what_its_schema_says() {
    let tool = json!({
        "name": "repeat",
        "command": ["echo", "{times}"],
        "input_schema": { "properties": { "times": { "type": "integer" } } },
    });
    let mut gateway = Gateway::with_config(&json!({ "local_tools": [tool] }));
    assert_eq!(gateway.prints("print(await mcp__local__repeat(times=3))"), "3\n");
    let failure = gateway.fails("await mcp__local__repeat(times='3')");
    let expected = r#"times: "3" is of type string, not integer"#;
    assert!(failure.contains(expected), "{failure}");
}
