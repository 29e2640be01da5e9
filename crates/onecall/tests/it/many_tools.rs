//! Servers with very many tools: what they cost, and that a list that is cut says so.

use serde_json::{Value, json};

use crate::support::{Gateway, Home, finish, fixture};

/// Tools of the large server, and what each may cost, in bytes.
const MANY: u64 = 20_000;
const BYTES_A_TOOL: u64 = 5_000;

/// What a gateway holds in memory once its tools are listed and searched, in bytes.
fn resident(tools: u64) -> u64 {
    let tools = tools.to_string();
    let flags = ["--tools", &tools, "--page-size", "1000"];
    let mut server = fixture("fixture", &flags);
    server["connect_timeout_seconds"] = json!(300);
    let mut gateway = Gateway::with_config(&json!({ "servers": [server] }));
    gateway.session.call_tool("list_callable_tools", json!({}));
    let found = gateway.session.call_tool("search_tools", json!({ "query": "add two numbers" }));
    assert!(found.text.contains("mcp__fixture__add"), "{}", found.text);
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_tool_costs_little_more_than_its_definition() {
    let (few, many) = (resident(0), resident(MANY));
    let each = many.saturating_sub(few) / MANY;
    assert!(each <= BYTES_A_TOOL, "{each} bytes a tool: {few} without, {many} with {MANY}");
}

#[test]
fn a_list_that_is_cut_says_so_everywhere() {
    let config = json!({
        "servers": [fixture("large", &["--tools", "300", "--page-size", "100"])],
        "limits": { "max_tools": 120 },
    });
    let cut = "only its first 120 tools are known: 'max_tools' in 'limits' is 120";
    let mut gateway = Gateway::with_config(&config);
    let found = gateway.session.call_tool("search_tools", json!({ "query": "archive" }));
    assert!(found.text.ends_with(&format!("\n[Server large: {cut}]")), "{}", found.text);
    gateway.wait_for_log(&["WARN", "cuts the server's list of tools", cut]);
    let home = Home::with_config(&config);
    let checked = finish(home.onecall_with_config(&["check"]));
    assert!(checked.stdout.contains(cut), "{checked:?}");
    let doctor = finish(home.onecall_with_config(&["doctor", "--json"]));
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let report = report.to_string();
    assert!(report.contains(cut) && report.contains("\"tools_cut_at\":120"), "{report}");
}

#[test]
fn a_tool_of_many_is_called_with_checked_arguments() {
    let servers = [fixture("fixture", &["--tools", "2000"])];
    let execution = json!({ "max_tool_calls": 5_000 });
    let mut gateway = Gateway::with_config(&json!({ "servers": servers, "execution": execution }));
    // More tools than are kept parsed, so that the first ones are parsed again.
    let code = "
        for turn in range(2):
            for number in range(1, 1201):
                tool = getattr(tools, f'mcp__fixture__tool_{number:05}')
                try:
                    tool(priority='none')
                except ToolError as error:
                    assert 'low' in str(error), error
                else:
                    raise SystemExit(f'{number} was called')
        print('refused')
    ";
    assert_eq!(gateway.prints(code), "refused\n");
}
