//! No server is asked twice for what it just said, as far as that is safe.

use serde_json::{Value, json};
use testkit::mcp::Session;

use crate::support::{
    Gateway, Home, ReceivedMessages, failed, finish, fixture, has_system_python, printed, script,
};

/// A gateway with this cache, and what its fixture server has received.
fn cached(cache: &Value) -> (Gateway, ReceivedMessages) {
    with_config(&json!({ "cache": cache }))
}

fn with_config(config: &Value) -> (Gateway, ReceivedMessages) {
    let home = home_with_config(config);
    let received = ReceivedMessages::in_file(home.path("received"));
    (Gateway::in_home(home), received)
}

fn home_with_config(config: &Value) -> Home {
    let home = Home::new();
    let mut config = config.clone();
    config["servers"] = json!([fixture("fixture", &["--log", &home.text_path("received")])]);
    home.write("config.json", config.to_string());
    home
}

/// A server without hints, whose tools answer with the number of the call.
fn counting(tools: &[&str]) -> Value {
    let schema = json!({ "type": "object" });
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({ "name": name, "inputSchema": schema })).collect();
    let answer = json!({ "content": [{ "type": "text", "text": "$count_text" }] });
    script("s", &json!({ "tools": tools, "on": { "tools/call": [{ "answer": answer }] } }))
}

#[test]
fn thirteen_identical_queries_reach_the_server_once() {
    let (mut gateway, received) = cached(&json!({}));
    let query = "print(len(await mcp__fixture__query_sales(region='North', year=2024)))";
    let first = gateway.prints(query);
    for _ in 0..4 {
        assert_eq!(gateway.prints(query), first);
    }
    // Written in another way, and several at once.
    let parallel = "
        import asyncio
        args = {'year': 2024, 'region': 'North'}
        answers = await asyncio.gather(*(mcp__fixture__query_sales(args) for _ in range(8)))
        print(*(len(answer) for answer in answers), sep='\\n')
    ";
    assert_eq!(gateway.prints(parallel), first.repeat(8));
    assert_eq!(received.calls("query_sales"), 1);
}

#[test]
fn without_a_cache_every_call_is_made() {
    let (mut gateway, received) = with_config(&json!({}));
    gateway.prints("for _ in range(3): await mcp__fixture__add(1, 2)");
    assert_eq!(received.calls("add"), 3);
    // A fresh answer is what it would get anyway.
    assert_eq!(gateway.prints("print(await cache.fresh(mcp__fixture__add, 1, 2))"), "3\n");
    let off = "
        for ask in (cache.stats, cache.clear):
            try:
                ask()
            except ToolError as error:
                print(error)
    ";
    insta::assert_snapshot!(gateway.prints(off), @r"
    'cache.stats' failed: the cache is off; `cache: {}` in the configuration turns it on
    'cache.clear' failed: the cache is off; `cache: {}` in the configuration turns it on
    ");
}

#[test]
fn calls_at_once_are_made_once() {
    let (mut gateway, received) = cached(&json!({}));
    let code = "
        import asyncio
        print(await asyncio.gather(*(mcp__fixture__sleep(ms=1500) for _ in range(20))) == ['slept'] * 20)
    ";
    assert_eq!(gateway.prints(code), "True\n");
    assert_eq!(received.calls("sleep"), 1);
}

#[test]
fn a_call_outlives_the_program_that_began_it() {
    let (mut gateway, received) = cached(&json!({}));
    let first = gateway.start("print(await mcp__fixture__sleep(ms=1500))");
    received.wait_for_call("sleep");
    let second = gateway.start(
        "
        import asyncio
        slept = asyncio.ensure_future(mcp__fixture__sleep(ms=1500))
        await asyncio.sleep(0)
        await mcp__fixture__add(1, 2)
        print(await slept)
        ",
    );
    // It waits by then.
    received.wait_for_call("add");
    gateway.session.cancel(first);
    assert_eq!(printed(&gateway.session.finish_call(second)), "slept\n");
    assert_eq!(received.calls("sleep"), 1);
}

#[test]
fn a_change_ends_what_its_server_said() {
    let (mut gateway, received) = cached(&json!({}));
    let code = "
        for _ in range(3):
            await mcp__fixture__add(1, 2)
        await mcp__fixture__counter()
        for _ in range(3):
            await mcp__fixture__add(1, 2)
        print(await mcp__fixture__counter())
    ";
    assert_eq!(gateway.prints(code), "2\n");
    assert_eq!((received.calls("add"), received.calls("counter")), (2, 2));
}

#[test]
fn a_pattern_does_not_catch_tools_that_change_something() {
    let servers = [counting(&["get_user", "user_update", "deleteUser"])];
    let config = json!({ "servers": servers, "cache": { "include": ["mcp__s__*"] } });
    let mut gateway = Gateway::with_config(&config);
    let code = "
        tools = [mcp__s__get_user, mcp__s__get_user, mcp__s__user_update, mcp__s__user_update,
            mcp__s__deleteUser, mcp__s__deleteUser, mcp__s__get_user]
        print([await tool() for tool in tools])
    ";
    assert_eq!(gateway.prints(code), "[1, 1, 2, 3, 4, 5, 6]\n");

    let config = json!({ "servers": servers, "cache": { "include": ["mcp__s__deleteUser"] } });
    let mut gateway = Gateway::with_config(&config);
    assert_eq!(gateway.prints(code), "[1, 2, 3, 4, 5, 5, 6]\n");
}

#[test]
fn what_is_excluded_is_asked_each_time() {
    let (mut gateway, received) = cached(&json!({ "exclude": ["mcp__fixture__add"] }));
    gateway.prints("for _ in range(3): await mcp__fixture__add(1, 2)");
    assert_eq!(received.calls("add"), 3);
}

#[test]
fn errors_are_asked_for_again() {
    let (mut gateway, received) = cached(&json!({}));
    let code = "
        for _ in range(3):
            try:
                await mcp__fixture__fail(message='no')
            except ToolError as error:
                print(error)
    ";
    assert_eq!(gateway.prints(code), "'mcp__fixture__fail' failed: no\n".repeat(3));
    assert_eq!(received.calls("fail"), 3);
}

#[test]
fn a_blocked_tool_is_not_answered_for() {
    let (mut gateway, received) = cached(&json!({}));
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
    let path = gateway.home.path("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["tools"] = json!({ "block": ["mcp__fixture__add"] });
    gateway.home.write("config.json", config.to_string());
    gateway.wait_for_tool_change();
    let code = "
        name = 'mcp__fixture__add'
        try:
            print(await eval(name)(1, 2))
        except ToolError as error:
            print(error)
        try:
            print(await cache.fresh(eval(name), 1, 2))
        except ToolError as error:
            print(error)
    ";
    let refused = "'mcp__fixture__add' is not available in execute_program\n";
    assert_eq!(gateway.prints(code), refused.repeat(2));
    assert_eq!(received.calls("add"), 1);
}

/// What a program can do about it, in Python.
const CONTROL: &str = "
    async def calls():
        return [await mcp__fixture__add(1, 2), tools.add(b=2, a=1)]

    print(await calls(), await calls())
    print(await cache.fresh(mcp__fixture__add, a=1, b=2), cache.fresh(tools.add, {'a': 1, 'b': 2}))
    stats = cache.stats()
    print({key: stats[key] for key in ('scope', 'hits', 'misses', 'entries')}, stats['bytes'] > 0)
    print((await cache.stats())['max_bytes'])
    print(await cache.clear('mcp__fixture__*'), cache.clear('mcp__fixture__add'), cache.clear())
    print(await calls(), cache.stats()['entries'])
    for wrong in (lambda: cache.fresh(print, 1), lambda: cache.clear('a b'), lambda: cache.clear(1)):
        try:
            wrong()
        except Exception as error:
            print(f'{type(error).__name__}: {error}')
    cache = {}
    cache['own'] = 1
    print(cache)
";

#[test]
fn programs_can_look_after_the_cache() {
    let engines = if has_system_python() { &["python", "cpython"][..] } else { &["python"] };
    for engine in engines {
        let (mut gateway, received) = cached(&json!({}));
        let answer = printed(&gateway.execute_on(engine, CONTROL));
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer, @r#"
            [3, 3] [3, 3]
            3 3
            {'scope': 'process', 'hits': 3, 'misses': 3, 'entries': 1} True
            67108864
            1 0 0
            [3, 3] 1
            TypeError: cache.fresh() takes a tool and then its arguments: await cache.fresh(mcp__server__tool, name=value)
            ToolError: 'cache.clear' failed: "a b" is not a pattern: a tool pattern may hold only letters, digits, '_' and '*'
            ToolError: 'cache.clear' failed: it takes a pattern, such as 'mcp__sales__*'
            {'own': 1}
            "#);
        }
        assert_eq!(received.calls("add"), 4, "{engine}");
    }
}

#[test]
fn typescript_programs_can_as_well() {
    let (mut gateway, received) = cached(&json!({}));
    let code = "
        import { add } from './servers/fixture';
        const calls = async () => [await mcp__fixture__add({ a: 1, b: 2 }), await tools.add(1, 2), await add({ b: 2, a: 1 })];
        console.log(await calls(), await calls());
        console.log(await cache.fresh(mcp__fixture__add, { a: 1, b: 2 }), await cache.fresh(add, 1, 2));
        const { scope, hits, misses, entries } = cache.stats();
        console.log({ scope, hits, misses, entries });
        console.log(await cache.clear('mcp__fixture__*'), await cache.clear());
        for (const wrong of [() => cache.fresh(console.log, 1), () => cache.clear('a b')]) {
          try {
            await wrong();
          } catch (error) {
            console.log(`${error}`);
          }
        }
        { const cache = new Map([['own', 1]]); console.log(cache); }
    ";
    insta::assert_snapshot!(printed(&gateway.execute_typescript(code)), @r#"
    [ 3, 3, 3 ] [ 3, 3, 3 ]
    3 3
    { scope: 'process', hits: 5, misses: 3, entries: 1 }
    1 0
    TypeError: cache.fresh() takes a tool and then its arguments: await cache.fresh(mcp__server__tool, { name: value })
    ToolError: 'cache.clear' failed: "a b" is not a pattern: a tool pattern may hold only letters, digits, '_' and '*'
    Map(1) { 'own' => 1 }
    "#);
    assert_eq!(received.calls("add"), 3);

    let (mut gateway, _) = with_config(&json!({}));
    let code = "console.log(await cache.fresh(mcp__fixture__add, 1, 2)); cache.stats()";
    insta::assert_snapshot!(failed(&gateway.execute_typescript(code)), @r"
    <program>:1:63
    console.log(await cache.fresh(mcp__fixture__add, 1, 2)); cache.stats()
                                                                  ^
    ToolError: 'cache.stats' failed: the cache is off; `cache: {}` in the configuration turns it on
        at <program>:1:63
    [Output before the failure]
    3
    [Tool calls completed: 1]
    ");
}

#[test]
fn a_program_can_have_a_cache_of_its_own() {
    let (mut gateway, received) = cached(&json!({ "scope": "run" }));
    for calls in 1..=2 {
        gateway.prints("for _ in range(3): await mcp__fixture__add(1, 2)");
        assert_eq!(received.calls("add"), calls);
    }
}

#[test]
fn plans_use_the_same_answers() {
    let (mut gateway, received) = cached(&json!({}));
    let plan = json!({
        "target_tool": "mcp__fixture__add",
        "tool_args": { "a": { "__tool__": "mcp__fixture__add", "args": { "a": 1, "b": 2 } }, "b": 4 },
    });
    for _ in 0..2 {
        assert_eq!(gateway.session.call_tool("proxy", plan.clone()).text, "7");
    }
    gateway.prints("print(await mcp__fixture__add(1, 2))");
    assert_eq!(received.calls("add"), 2);
}

#[test]
fn an_answer_that_the_client_had_a_part_in_is_not_kept() {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage",
        "params": { "messages": [], "maxTokens": 7 } });
    let annotations = json!({ "readOnlyHint": true });
    let tool =
        json!({ "name": "ask", "inputSchema": { "type": "object" }, "annotations": annotations });
    let answer = json!({ "content": [{ "type": "text", "text": "$count_text" }] });
    let asking = json!({
        "tools": [tool],
        "on": { "tools/call ask": [{ "say": ask }, { "await": "q" }, { "answer": answer }] },
    });
    let config = json!({ "servers": [script("s", &asking)], "cache": {} });
    let home = Home::with_config(&config);
    let reply = json!({ "role": "assistant", "content": [], "model": "m" });
    let answers = [("sampling/createMessage", reply)];
    let mut session = Session::open_with_capabilities(
        home.onecall_with_config(&["serve"]),
        &json!({ "sampling": {} }),
        &answers,
    );
    let code = "print([await mcp__s__ask() for _ in range(3)])";
    let answer = session.call_tool("execute_program", json!({ "code": code }));
    assert_eq!(printed(&answer), "[1, 2, 3]\n");
}

#[test]
fn onecall_run_uses_it_too() {
    let home = home_with_config(&json!({ "cache": {} }));
    let received = ReceivedMessages::in_file(home.path("received"));
    let ended = home.run("print([await mcp__fixture__add(1, 2) for _ in range(3)])");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "[3, 3, 3]\n"), "{}", ended.stderr);
    assert_eq!(received.calls("add"), 1);
}

#[test]
fn processes_can_share_answers() {
    let home = home_with_config(&json!({ "cache": { "scope": "shared" } }));
    let received = ReceivedMessages::in_file(home.path("received"));
    let stats = || {
        let ended = finish(home.onecall_with_config(&["cache", "stats"]));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        ended.stdout
    };
    assert_eq!(stats(), "No answers are cached on disk\n");
    for _ in 0..3 {
        let ended = home.run("print([await mcp__fixture__add(1, 2) for _ in range(2)])");
        assert_eq!((ended.stdout.as_str(), ended.code), ("[3, 3]\n", Some(0)), "{}", ended.stderr);
    }
    home.run("await mcp__fixture__nothing()");
    assert_eq!((received.calls("add"), received.calls("nothing")), (1, 1));
    insta::assert_snapshot!(stats(), @r"
                           answers      bytes     used
    mcp__fixture__add            1         57        5
    mcp__fixture__nothing        1         60        0
    total                        2        117        5
    ");
    let clear = |pattern: &[&str]| {
        let ended = finish(home.onecall_with_config(&[&["cache", "clear"], pattern].concat()));
        (ended.code, ended.stderr)
    };
    assert_eq!(clear(&["mcp__other__*"]), (Some(0), "Removed 0 cached answers\n".to_owned()));
    assert_eq!(clear(&["*__add"]), (Some(0), "Removed 1 cached answer\n".to_owned()));
    let ended = finish(home.onecall_with_config(&["cache", "stats", "--json"]));
    let stats: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&stats["entries"], &stats["tools"][0]["tool"]),
        (&json!(1), &json!("mcp__fixture__nothing"))
    );
    home.run("await mcp__fixture__counter()");
    assert_eq!(clear(&[]), (Some(0), "Removed 0 cached answers\n".to_owned()));
    insta::assert_snapshot!(clear(&["a b"]).1, @r"
    error: 'a b' is not a pattern; write one like 'mcp__sales__*': a tool pattern may hold only letters, digits, '_' and '*'
    ");
}

#[test]
fn what_is_not_on_disk_is_not_shown() {
    let stderr = |cache: Value| {
        let home = Home::with_config(&json!({ "cache": cache }));
        let ended = finish(home.onecall_with_config(&["cache", "stats"]));
        assert_eq!(ended.stdout, "No answers are cached on disk\n");
        ended.stderr
    };
    let home = Home::with_config(&json!({}));
    let off = finish(home.onecall_with_config(&["cache", "clear"])).stderr;
    let said = [off, stderr(json!({})), stderr(json!({ "scope": "run" }))].concat();
    insta::assert_snapshot!(said, @r"
    Note: the cache is off; this shows only answers on disk
    Removed 0 cached answers
    Note: with `scope: process`, each onecall process caches answers in its memory; this shows only answers on disk
    Note: with `scope: run`, answers are cached for one program; this shows only answers on disk
    ");
}

#[test]
fn a_store_that_cannot_be_used_stops_no_program() {
    let home = home_with_config(
        &json!({ "cache": { "scope": "shared" }, "store": { "path": "/proc/no" } }),
    );
    let ended = home.run("print(await mcp__fixture__add(1, 2), await mcp__fixture__add(1, 2))");
    assert_eq!((ended.stdout.as_str(), ended.code), ("3 3\n", Some(0)), "{}", ended.stderr);
}
