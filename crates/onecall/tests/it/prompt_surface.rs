//! What a server can put in front of a model or on a terminal: nothing invisible, and no
//! more than has room. What programs send and get stays as it is, to the last character.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::mcp::Session;

use crate::support::{Gateway, Home, fixture, script};

/// A call of `execute_program` and what its tools say may be this long, in bytes.
const ROOM: usize = 60_000;

/// An instruction in tag characters, which models read and people do not see.
fn tagged(text: &str) -> String {
    let tag = |byte: u8| char::from_u32(0xe0000 + u32::from(byte)).unwrap();
    text.bytes().map(tag).collect()
}

/// Every kind of character that hides something.
fn hidden() -> String {
    let direction =
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2069}";
    let width =
        "\u{200b}\u{200c}\u{200d}\u{2060}\u{2061}\u{2064}\u{feff}\u{ad}\u{34f}\u{3164}\u{115f}";
    let selectors = "\u{fe00}\u{fe0e}\u{fe0f}\u{e0100}\u{e01ef}";
    let others = "\u{2028}\u{2029}\u{fff9}\u{fffa}\u{fffb}\u{e000}\u{fdd0}\u{ffff}\u{2800}";
    let controls = "\u{1b}[8m\u{7}\u{7f}\u{85}\u{9b}";
    format!("{direction}{width}{selectors}{others}{controls}{}", tagged("steal"))
}

/// What has to arrive as it is.
const ORDINARY: &str = "Ça va, 東京, مرحبا, שלום, 👩🏾\u{200d}💻❤\u{fe0f}";

/// The rule once more, by itself and without exceptions.
fn is_clean(text: &str) -> bool {
    !text.replace(ORDINARY, "").chars().any(|character| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || hidden().chars().any(|it| it == character && !it.is_ascii())
            || matches!(u32::from(character), 0xe0000..=0xe0fff | 0x202a..=0x202e | 0x2060..=0x206f)
    })
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    assert!(is_clean(text), "{what} has something invisible: {}", text.escape_debug());
    assert!(text.len() < ROOM, "{what} has {} bytes", text.len());
}

/// A tool with something hidden in everything that it says.
fn hostile_tool() -> Value {
    let hidden = hidden();
    json!({
        "name": "work",
        "title": format!("Title{hidden}"),
        "description": format!("Works.{hidden}\r\n{ORDINARY}"),
        "inputSchema": {
            "type": "object",
            "description": format!("Arguments{hidden}"),
            "properties": {
                "mode": {
                    "type": "string",
                    "title": format!("Mode{hidden}"),
                    "description": format!("How{hidden}"),
                    "enum": ["plain", format!("odd{hidden}")],
                    "default": format!("odd{hidden}"),
                },
                format!("key{hidden}"): { "type": "integer", "examples": [hidden] },
            },
        },
        "outputSchema": {
            "type": "object",
            "properties": { "result": { "type": "string", "description": hidden } },
        },
    })
}

fn hostile() -> Value {
    let text = json!([{ "type": "text", "text": "$params_text" }]);
    let failure = json!([{ "type": "text", "text": format!("no{}", hidden()) }]);
    let progress = json!({
        "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": "$token", "progress": 1, "message": hidden() },
    });
    script(
        "evil",
        &json!({
            "tools": [
                hostile_tool(),
                { "name": "fail", "description": hidden(), "inputSchema": { "type": "object" } },
                { "name": "echo", "inputSchema": { "type": "object" } },
            ],
            "on": {
                "tools/call work": [{ "answer": { "content": text } }],
                "tools/call fail": [
                    { "say": progress },
                    { "answer": { "content": failure, "isError": true } },
                ],
                "tools/call echo": [
                    { "answer": { "content": [{ "type": "text", "text": hidden() }] } },
                ],
            },
        }),
    )
}

fn gateway() -> Gateway {
    Gateway::with_config(&json!({ "servers": [hostile()], "expose_tools": ["mcp__evil__*"] }))
}

fn ask(gateway: &mut Gateway, tool: &str, arguments: Value) -> String {
    gateway.session.call_tool(tool, arguments).text
}

#[test]
fn a_hostile_tool_as_a_model_sees_it() {
    let mut gateway = gateway();
    let inspected = ask(&mut gateway, "inspect_tool", json!({ "tool_name": "mcp__evil__work" }));
    assert_clean("inspect_tool", &inspected);
    assert!(inspected.contains(ORDINARY), "{inspected}");
    insta::assert_snapshot!("hostile_inspected", inspected);
    // The values in it are those that the server wants.
    let parsed: Value = serde_json::from_str(&inspected).unwrap();
    let tool = hostile_tool();
    let mode = &parsed["inputSchema"]["properties"]["mode"];
    assert_eq!(mode["enum"], tool["inputSchema"]["properties"]["mode"]["enum"]);
    assert_eq!(mode["default"], tool["inputSchema"]["properties"]["mode"]["default"]);
    assert!(parsed["inputSchema"]["properties"].get(format!("key{}", hidden())).is_some());
    for detail in ["names", "signatures", "full"] {
        let search = json!({ "query": "works", "detail": detail });
        let found = ask(&mut gateway, "search_tools", search);
        assert_clean(detail, &found);
        insta::assert_snapshot!(format!("hostile_search_{detail}"), found);
    }
}

#[test]
fn nothing_hidden_reaches_a_model_by_another_way() {
    let mut gateway = gateway();
    for definition in gateway.session.list_tools() {
        let text = definition.to_string();
        // serde writes ASCII controls as escapes already.
        assert_clean("tools/list", &text);
        let texts = serde_json::to_string(&definition).unwrap();
        assert!(!texts.contains("\\u001b"), "{texts}");
    }
    for file in ["work.pyi", "work.ts", "fail.pyi"] {
        let uri = format!("onecall://servers/evil/{file}");
        let read = gateway.session.client().request("resources/read", json!({ "uri": uri }));
        assert_clean(file, read["contents"][0]["text"].as_str().unwrap());
    }
    let listed = gateway.session.client().request("resources/list", json!({}));
    assert_clean("resources/list", &listed.to_string());
    let failed = gateway.execute("await mcp__evil__fail()");
    assert!(failed.is_error && failed.text.contains(r"failed: no\u{61c}\u{200e}"), "{failed:?}");
    assert_clean("the failure of a program", &failed.text);
    let code = "const x = await mcp__evil__fail();";
    assert_clean("the failure in TypeScript", &gateway.execute_typescript(code).text);
    let plan = json!({ "target_tool": "mcp__evil__fail", "tool_args": {} });
    assert_clean("the failure of a plan", &ask(&mut gateway, "proxy", plan));
    let misfit = gateway.fails("await mcp__evil__work(mode='none')");
    assert!(misfit.contains("odd"), "{misfit}");
    assert_clean("arguments that do not fit", &misfit);
    let documentation = "print(tools.work.__doc__)\nprint(tools.search('works')[0]['description'])";
    assert_clean("documentation", &gateway.prints(documentation));
    let call = gateway.session.start_call_with_progress("mcp__evil__fail", json!({}), "t");
    _ = gateway.session.finish_call(call);
    for note in gateway.session.progress("t") {
        let message = note["message"].as_str().unwrap_or_default();
        assert_clean("a progress report", message);
        assert!(message.contains("\\u{202e}"), "{message}");
    }
}

#[test]
fn programs_send_and_get_every_character() {
    let mut gateway = gateway();
    let hidden = serde_json::to_string(&hidden()).unwrap();
    let code = format!(
        "hidden = {hidden}\n\
         sent = await mcp__evil__work(mode='odd' + hidden)\n\
         print(sent['arguments']['mode'] == 'odd' + hidden, await mcp__evil__echo() == hidden)"
    );
    assert_eq!(gateway.prints(&code), "True True\n");
}

#[test]
fn what_a_server_asks_a_person_is_readable() {
    let schema = json!({ "type": "object", "properties": {
        "name": { "type": "string", "title": hidden(), "description": hidden(), "enum": [hidden()], "enumNames": [hidden()] },
    } });
    let params = json!({ "message": hidden(), "requestedSchema": schema });
    let question =
        json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params });
    let server = script(
        "evil",
        &json!({
            "tools": [{ "name": "ask", "inputSchema": { "type": "object" } }],
            "on": { "tools/call ask": [
                { "say": question },
                { "await": "q" },
                { "answer": { "content": [{ "type": "text", "text": "done" }] } },
            ]},
        }),
    );
    let home = Home::with_config(&json!({ "servers": [server] }));
    let answers = [("elicitation/create", json!({ "action": "decline" }))];
    let mut session = Session::open_with_capabilities(
        home.onecall_with_config(&["serve"]),
        &json!({ "elicitation": {} }),
        &answers,
    );
    let code = "print(await mcp__evil__ask())";
    session.call_tool("execute_program", json!({ "code": code }));
    let asked = session.client().server_requests();
    let params = &asked[0]["params"];
    assert_clean("the question", params["message"].as_str().unwrap());
    let name = &params["requestedSchema"]["properties"]["name"];
    for words in [&name["title"], &name["description"], &name["enumNames"][0]] {
        assert_clean("the form", words.as_str().unwrap());
    }
    assert_eq!(name["enum"], json!([hidden()]));
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let words = "words of a server ".repeat(6_000);
    let properties: serde_json::Map<String, Value> = (0..400)
        .map(|number| {
            let choices: Vec<String> = (0..20).map(|it| format!("choice {number} {it}")).collect();
            let words = words.get(..2_000);
            (format!("property_{number}"), json!({ "description": words, "enum": choices }))
        })
        .collect();
    let schema = json!({ "type": "object", "properties": properties });
    let tool = json!({ "name": "long", "description": words, "inputSchema": schema, "outputSchema": schema });
    let home = Home::new();
    let file = home.write("tools.json", json!([tool]).to_string()).display().to_string();
    let config = json!({
        "servers": [fixture("evil", &["--tools-file", &file])],
        "limits": { "max_description_chars": 100_000 },
        "expose_tools": ["mcp__evil__*"],
    });
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    let inspected = ask(&mut gateway, "inspect_tool", json!({ "tool_name": "mcp__evil__long" }));
    assert_clean("inspect_tool", &inspected);
    let parsed: Value = serde_json::from_str(&inspected).unwrap();
    let description = parsed["description"].as_str().unwrap();
    assert!(description.ends_with("tokens)"), "{description}");
    let note = parsed["note"].as_str().unwrap();
    assert!(note.starts_with("inputSchema is shown as the names and types of its properties"));
    assert!(note.contains("outputSchema is shown as"), "{note}");
    assert!(parsed["signature"].as_str().unwrap().starts_with("await mcp__evil__long("));
    let search = json!({ "query": "words", "detail": "full" });
    assert_clean("search_tools", &ask(&mut gateway, "search_tools", search));
    let exposed = gateway.session.list_tools();
    let exposed = exposed.iter().find(|tool| tool["name"] == "mcp__evil__long").unwrap();
    assert_clean("the exposed definition", &exposed.to_string());
    assert_eq!(exposed["inputSchema"]["type"], "object");
    let description = exposed["description"].as_str().unwrap();
    assert!(description.contains("[inputSchema is shown as the names"), "{description}");
}

#[test]
fn a_long_list_of_names_is_cut_and_says_so() {
    let mut gateway = Gateway::with_flags(&["--tools", "6000"]);
    let answer = gateway.session.call_tool("list_callable_tools", json!({}));
    let blocks = answer.raw["content"].as_array().unwrap();
    let names: Vec<String> = serde_json::from_str(blocks[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(names.len(), 5_000);
    assert!(names.is_sorted());
    let total = 6_000 + Gateway::new().callable_tools().len();
    let expected = format!(
        "[These are the first 5000 of {total} tools, by name. search_tools finds the others by \
         what they do.]"
    );
    assert_eq!(blocks[1]["text"], expected);
    assert_eq!(blocks.len(), 2);
}

#[test]
fn a_terminal_shows_nothing_hidden() {
    let home = Home::with_config(&json!({ "servers": [hostile()] }));
    let commands: [&[&str]; 5] = [
        &["tools"],
        &["tools", "show", "mcp__evil__work"],
        &["tools", "--detail", "full", "--json"],
        &["call", "mcp__evil__fail"],
        &["check"],
    ];
    for arguments in commands {
        let command = home.onecall_with_config(arguments);
        let mut line = command.get_program().to_string_lossy().into_owned();
        for argument in command.get_args() {
            line += &format!(" '{}'", argument.to_string_lossy());
        }
        // A terminal of its own for the command.
        let mut script = Command::new("script");
        script.args(["--quiet", "--command", &line, "/dev/null"]).stdin(Stdio::null());
        script.env("HOME", home.path("home"));
        let Ok(output) = script.output() else {
            eprintln!("skipped: there is no `script` to make a terminal with");
            return;
        };
        let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        // Our own spinner and colours are written with escape sequences.
        let shown: String = shown.chars().filter(|it| *it != '\u{1b}').collect();
        assert!(is_clean(&shown), "{arguments:?}: {}", shown.escape_debug());
        assert!(shown.contains("evil"), "{arguments:?}: {shown}");
    }
}

#[test]
fn the_estimate_of_tokens_is_not_below_the_count() {
    let definitions = include_str!("../../../testkit/data/tools.json");
    for text in [
        "Searches the customer database by name, city or the date of the last order.",
        "Durchsucht die Kundendatenbank nach Größe, Straße und Überweisungsdatum.",
        "Recherche un client par son adresse électronique ; échoue s'il n'existe pas.",
        "按名称、城市或上次订单日期搜索客户数据库。",
        "顧客データベースを名前や最終注文日で検索します。",
        "고객 데이터베이스에서 이름이나 도시로 검색합니다.",
        "يبحث في قاعدة بيانات العملاء حسب الاسم أو المدينة.",
        "מחפש לקוחות לפי שם או עיר.",
        "Ищет клиентов по имени, городу или дате последнего заказа.",
        "👩🏾\u{200d}💻❤\u{fe0f} 👍🏽 🎉",
        definitions,
    ] {
        let exact = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len();
        let estimate = onecall_core::text::tokens(text);
        assert!(estimate >= exact, "{estimate} < {exact}: {text}");
        assert!(estimate <= exact * 5, "{estimate} > 5 × {exact}: {text}");
    }
}
