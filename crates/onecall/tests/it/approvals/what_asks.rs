//! Programs and plans that may ask, in every form in which they can name a tool: each can wait for a
//! person, and none fails because it cannot wait.

use onecall_core::storage::Journals as _;
use serde_json::{Value, json};
use testkit::bins;

use super::{Agent, Desk, waiting_run};

/// A server with a tool that deletes orders, one that lists them, and a resource.
fn shop(name: &str, log: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    let tool = |name: &str, reads: bool| json!({ "name": name, "inputSchema": schema, "annotations": { "readOnlyHint": reads } });
    let text =
        |text: &str| json!([{ "answer": { "content": [{ "type": "text", "text": text }] } }]);
    let resource = json!({ "uri": "shop://prices", "name": "prices", "mimeType": "text/plain" });
    let contents = json!([{ "uri": "shop://prices", "text": "cheap" }]);
    let script = json!({
        "tools": [tool("delete_order", false), tool("list_orders", true)],
        "on": {
            "tools/call delete_order": text("deleted"),
            "tools/call list_orders": text("listed"),
            "resources/list": [{ "answer": { "resources": [resource] } }],
            "resources/read": [{ "answer": { "contents": contents } }],
        },
    });
    let args = ["--script", &script.to_string(), "--log", log];
    json!({ "name": name, "command": bins::fixture_server(), "args": args })
}

/// A user with two shops; calls that delete need an approval.
fn desk_with_shops(approvals: &Value) -> Desk {
    let desk = Desk::new(&json!({}));
    let log = desk.home.text_path("received");
    let mut config =
        json!({ "servers": [shop("shop", &log), shop("other", &log)], "approvals": approvals });
    config["approvals"]["wait_seconds"] = json!(0);
    desk.home.replace_config(&config);
    desk
}

fn asks_to_delete() -> Desk {
    desk_with_shops(&json!({ "ask": ["mcp__*__delete_*"], "keep_seconds": 0 }))
}

impl Agent {
    fn execute_typescript(&mut self, code: &str) -> testkit::mcp::ToolAnswer {
        let arguments = json!({ "code": code, "language": "typescript" });
        self.0.call_tool("execute_program", arguments)
    }
}

#[test]
fn a_typescript_program_asks_however_it_names_a_tool() {
    let desk = asks_to_delete();
    let mut agent = desk.agent();
    let programs = [
        "import { deleteOrder } from './servers/shop';\nconsole.log(await deleteOrder({ id: 1 }));",
        "import { delete_order as remove } from './mcp-apis/shop';\nconsole.log(await remove({ id: 1 }));",
        "import * as shop from './servers/shop';\nconsole.log(await shop.deleteOrder({ id: 1 }));",
        "import * as shop from './servers/shop';\nconsole.log(await shop['delete' + 'Order']({ id: 1 }));",
        "import { callMCPTool } from './mcp-apis/client';\n\
         console.log(await callMCPTool('mcp__shop__' + 'delete_order', { id: 1 }));",
        "const name = 'mcp__shop__' + 'delete_order';\nconsole.log(await globalThis[name]({ id: 1 }));",
        "console.log(await tools['mcp__shop__delete_' + 'order']({ id: 1 }));",
    ];
    for (before, code) in programs.iter().enumerate() {
        let run = waiting_run(&agent.execute_typescript(code));
        assert_eq!(desk.received.calls("delete_order"), before, "{code}");
        desk.approve(&desk.open_item());
        desk.wait_until_ended(&run);
        let answer = agent.resume(&run);
        assert_eq!(answer.text, "[Script executed successfully]\ndeleted\n", "{code}");
    }
    let code = "import { listOrders } from './servers/shop';\nconsole.log(await listOrders());";
    assert_eq!(agent.execute_typescript(code).text, "[Script executed successfully]\nlisted\n");
    // It cannot ask, so it has no journal.
    let journalled = desk.store().durable_runs(true).expect("a store");
    assert_eq!(journalled.len(), programs.len());
}

#[test]
fn a_plan_asks_if_it_uses_the_own_name_of_a_tool() {
    let desk = asks_to_delete();
    let mut agent = desk.agent();
    // Both shops have the tool; the plan says which one is meant.
    let plan = json!({
        "target_tool": "delete_order", "tool_args": { "id": 1 }, "server_config": { "other": {} },
    });
    let answer = agent.0.call_tool("proxy", plan);
    let run = waiting_run(&answer);
    assert!(answer.text.contains("mcp__other__delete_order"), "{}", answer.text);
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&run);
    assert_eq!(agent.resume(&run).text, "deleted");
    assert_eq!(desk.received.calls("delete_order"), 1);
}

const READ: &str = "print(await read_resource('shop://prices', server='shop'))";

#[test]
fn the_functions_for_resources_destroy_nothing() {
    for hint in ["destructive", "writes", "open-world"] {
        let desk = desk_with_shops(&json!({ "hints": [hint] }));
        let mut agent = desk.agent();
        let answer = agent.execute(&format!("print(len(await list_resources('shop')))\n{READ}"));
        assert_eq!(answer.text, "[Script executed successfully]\n1\ncheap\n", "{hint}");
        assert_eq!(desk.open_questions(0).len(), 0);
    }
}

#[test]
fn a_person_can_be_asked_about_reading_a_resource() {
    let desk = desk_with_shops(&json!({ "ask": ["read_resource"] }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(READ));
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&run);
    assert_eq!(agent.resume(&run).text, "[Script executed successfully]\ncheap\n");
}
