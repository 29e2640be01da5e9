//! A tool whose own name has letters beyond ASCII can be called by it; what is listed, decided and
//! recorded is its plain name.

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, failed, finish, has_system_python, printed, script};

/// `ünï` as two letters with marks each, which Python writes as one.
const DECOMPOSED: &str = "u\u{308}ni\u{308}";

/// A configuration entry for a server `s` with these tools, each of which answers with what it is
/// called with.
fn server(tools: &[&str]) -> Value {
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "number" } }, "additionalProperties": false,
    });
    let define = |name: &&str| json!({ "name": name, "inputSchema": schema });
    let tools: Vec<Value> = tools.iter().map(define).collect();
    let answer =
        json!({ "content": [], "structuredContent": { "params": "$params", "count": "$count" } });
    script("s", &json!({ "tools": tools, "on": { "tools/call": [{ "answer": answer }] } }))
}

fn gateway(tools: &[&str], config: &Value) -> Gateway {
    let mut config = config.clone();
    config["servers"] = json!([server(tools)]);
    Gateway::with_config(&config)
}

#[test]
fn a_tool_is_called_in_its_unicode_spelling() {
    let mut gateway = gateway(&["ünï", "other"], &json!({}));
    assert_eq!(gateway.callable_tools(), ["mcp__s___n_", "mcp__s__other"]);
    let code = "
        def said(answer):
            print(answer['params']['name'], answer['params']['arguments'])
        said(await mcp__s__ünï(a=1))
        said(await mcp__s__ünï(2))
        said(tools.ünï(a=3))
        said(await tools.aio.mcp__s__ünï(a=4))
        said(await mcp__s___n_(a=5))
        print(mcp__s__ünï.__name__)
    ";
    let expected =
        "ünï {'a': 1}\nünï {'a': 2}\nünï {'a': 3}\nünï {'a': 4}\nünï {'a': 5}\nmcp__s___n_\n";
    let engines = if has_system_python() { &["python", "cpython"][..] } else { &["python"] };
    for engine in engines {
        for code in [code.to_owned(), code.replace("ünï", DECOMPOSED)] {
            assert_eq!(printed(&gateway.execute_on(engine, &code)), expected, "{engine}");
        }
    }
    let typescript = "
        for (const tool of [mcp__s__ünï, tools.ünï, globalThis['mcp__s__u\\u0308ni\\u0308'], mcp__s___n_])
            console.log(tool.name, (await tool({ a: 1 })).params.name);
    ";
    assert_eq!(printed(&gateway.execute_typescript(typescript)), "mcp__s___n_ ünï\n".repeat(4));
    let plan = json!({ "target_tool": "mcp__s__ünï", "tool_args": { "a": 1 } });
    let answer = gateway.session.call_tool("proxy", plan);
    assert!(!answer.is_error, "{}", answer.text);
    let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": "mcp__s__ünï" }));
    assert!(!answer.is_error && answer.text.contains("mcp__s___n_"), "{}", answer.text);
}

#[test]
fn the_check_before_the_run_knows_it() {
    let mut gateway = gateway(&["ünï"], &json!({}));
    insta::assert_snapshot!(gateway.fails("await mcp__s__ünï(b=1)"), @"
    [Nothing was executed]
      File \"<program>\", line 1
        await mcp__s__ünï(b=1)
    TypeError: mcp__s___n_(): 'b' is not accepted
        await mcp__s___n_(a: float | None = None) -> Any
    ");
}

#[test]
fn a_blocked_tool_stays_blocked_in_every_spelling() {
    for pattern in ["mcp__s___n_", "_n_", "mcp__s__*", "mcp__*n*"] {
        let mut gateway = gateway(&["ünï", "other"], &json!({ "tools": { "block": [pattern] } }));
        for call in ["await mcp__s__ünï(a=1)", "await mcp__s___n_(a=1)", "tools.ünï(a=1)"] {
            // Where the check before the run does not look.
            let code = format!("async def f():\n    {call}\nf = f()\nawait f");
            let failure = gateway.fails(&code);
            assert!(
                failure.contains("is not available in execute_program"),
                "{pattern}: {failure}"
            );
        }
        let code = "console.log(await mcp__s__ünï({ a: 1 }))";
        let failure = failed(&gateway.execute_typescript(code));
        let refused = "ToolError: 'mcp__s__ünï' is not available in execute_program";
        assert!(failure.contains(refused), "{pattern}: {failure}");
    }
    let mut gateway =
        gateway(&["ünï", "other"], &json!({ "tools": { "allow": ["mcp__s__other"] } }));
    let failure = gateway.fails("await mcp__s__ünï(a=1)");
    assert!(failure.contains("'mcp__s__ünï' is not available"), "{failure}");
}

#[test]
fn a_spelling_in_ascii_does_not_get_around_a_block() {
    // What Python makes of the ligature is the name of the other tool.
    let mut gateway = gateway(&["ﬁle"], &json!({ "tools": { "block": ["mcp__s__file"] } }));
    assert_eq!(gateway.callable_tools(), [""; 0]);
    let failure = gateway.fails("await mcp__s__ﬁle(a=1)");
    assert!(failure.contains("is not available in execute_program"), "{failure}");
}

#[test]
fn a_spelling_that_two_tools_share_means_neither() {
    let mut gateway = gateway(&["ü", "u\u{308}"], &json!({}));
    let failure = gateway.fails("await mcp__s__ü(a=1)");
    assert!(failure.contains("Did you mean: 'mcp__s___' or 'mcp__s__u_'?"), "{failure}");
    let failure = gateway.fails("tools.ü(a=1)");
    assert!(failure.contains("write 'mcp__s___' or 'mcp__s__u_'"), "{failure}");
    // The listed name of a tool means that tool.
    let mut gateway = self::gateway(&["ﬁle", "file"], &json!({}));
    let name = "print((await mcp__s__ﬁle(a=1))['params']['name'])";
    assert_eq!(gateway.prints(name), "file\n");
}

#[test]
fn tools_with_suffixes_are_found_by_their_spelling() {
    let mut gateway = gateway(&["ünï", "änï", "_n_"], &json!({}));
    let listed = gateway.callable_tools();
    assert!(listed.iter().all(|name| name.starts_with("mcp__s___n__")), "{listed:?}");
    let code = "
        for tool in mcp__s__ünï, mcp__s__änï:
            print((await tool(a=1))['params']['name'], tool.__name__ in NAMES)
    ";
    let code = code.replace("NAMES", &json!(listed).to_string());
    assert_eq!(gateway.prints(&code), "ünï True\nänï True\n");
    let failure = gateway.fails("await mcp__s___n_(a=1)");
    assert!(failure.contains("is not defined"), "{failure}");

    let mut gateway =
        self::gateway(&["ünï", "_n_"], &json!({ "tools": { "block": ["mcp__s___n_"] } }));
    let failure = gateway.fails("await mcp__s__ünï(a=1)");
    assert!(failure.contains("'mcp__s__ünï' is not available"), "{failure}");
}

#[test]
fn kept_answers_and_records_have_the_plain_name() {
    let home = Home::with_config(&json!({
        "servers": [server(&["ünï"])],
        "cache": { "include": ["mcp__s___n_"] },
        "records": "full",
    }));
    let mut gateway = Gateway::in_home(home);
    let code = "
        one = await mcp__s__ünï(a=1)
        two = await mcp__s___n_(a=1)
        new = await cache.fresh(mcp__s__ünï, a=1)
        print(one['count'], two['count'], new['count'])
    ";
    assert_eq!(gateway.prints(code), "1 1 2\n");
    let home = &gateway.home;
    let mut id = String::new();
    wait_until(TIMEOUT, || {
        let runs = finish(home.onecall_with_config(&["runs", "--json"])).stdout;
        let runs: Value = serde_json::from_str(&runs).unwrap();
        id = runs[0]["id"].as_str().unwrap_or_default().to_owned();
        !id.is_empty()
    });
    let shown = finish(home.onecall_with_config(&["runs", "show", &id, "--json"])).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let names: Vec<_> =
        shown["tool_calls"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["mcp__s___n_"; 3]);
    let replayed = finish(home.onecall_with_config(&["runs", "replay", &id]));
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    assert_eq!(gateway.prints("print(cache.clear('mcp__s___n_'))"), "1\n");
}
