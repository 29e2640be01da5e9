//! Resources and prompts of servers, inside programs.

use serde_json::{Value, json};

use crate::support::{Gateway, fixture, printed, script};

/// A server with these resources, each of which holds its own address.
fn library(name: &str, uris: &[&str]) -> Value {
    let resource = |uri: &&str| json!({ "uri": uri, "name": uri, "mimeType": "text/plain" });
    let all: Vec<Value> = uris.iter().map(resource).collect();
    let (first, rest) = all.split_at(1.min(all.len()));
    let text = json!({ "contents": [{ "uri": "x", "text": format!("[\"{name}\"]") }] });
    let blob = json!({ "uri": "img://1", "mimeType": "image/png", "blob": "AAAA" });
    let prompt = json!({ "name": "greet", "arguments": [{ "name": "who", "required": true }] });
    let message = json!({ "role": "user", "content": { "type": "text", "text": "$params_text" } });
    script(
        name,
        &json!({
            "tools": [{ "name": "noop", "inputSchema": { "type": "object" } }],
            "on": {
                "resources/list": [{ "answer": { "resources": first, "nextCursor": "2" } }],
                "resources/list 2": [{ "answer": { "resources": rest } }],
                "resources/templates/list": [{ "answer": { "resourceTemplates": [
                    { "uriTemplate": format!("{name}://{{id}}"), "name": "any" },
                ]}}],
                "resources/read": [{ "answer": text }],
                "resources/read img://1": [{ "answer": { "contents": [blob] } }],
                "prompts/list": [{ "answer": { "prompts": [prompt] } }],
                "prompts/get": [{ "answer": { "description": "d", "messages": [message] } }],
            },
        }),
    )
}

fn gateway() -> Gateway {
    Gateway::with_config(&json!({ "servers": [
        library("books", &["book://1", "both://1"]),
        library("films", &["both://1", "img://1"]),
        fixture("plain", &[]),
    ]}))
}

#[test]
fn what_is_listed_says_whose_it_is() {
    let code = "
        for it in await list_resources():
            print(it['server'], it['uri'])
        for it in await list_resource_templates('films'):
            print(it['server'], it['uriTemplate'])
        for it in await list_prompts():
            print(it['server'], it['name'], it['arguments'])
        print(await list_resources('plain'))
    ";
    insta::assert_snapshot!(gateway().prints(code), @r"
    books book://1
    books both://1
    films both://1
    films img://1
    films films://{id}
    books greet [{'name': 'who', 'required': True}]
    films greet [{'name': 'who', 'required': True}]
    []
    ");
}

#[test]
fn a_resource_is_read_from_the_server_that_has_it() {
    let code = "
        print(repr(await read_resource('book://1')))
        print(repr(await read_resource('both://1', server='films')))
        print(repr(await read_resource('films://7')))
        print(await read_resource('img://1'))
        print(repr(tools.read_resource('book://1')))
        for uri in ['both://1', 'none://1']:
            try:
                await read_resource(uri)
            except ToolError as error:
                print(error)
        for wrong in [lambda: read_resource(1), lambda: read_resource('x', 'nobody'),
                      lambda: read_resource('x', 'plain')]:
            try:
                await wrong()
            except ToolError as error:
                print(error)
    ";
    insta::assert_snapshot!(gateway().prints(code), @r#"
    '["books"]'
    '["films"]'
    '["films"]'
    {'uri': 'img://1', 'mimeType': 'image/png', 'blob': 'AAAA'}
    '["books"]'
    'read_resource' failed: several servers have it; say which as 'server', one of 'books', 'films'
    'read_resource' failed: no server lists it; say which one has it as 'server'
    'read_resource' failed: it was not called, because its arguments do not fit:
      uri: 1 is of type integer, not string
      await read_resource(uri: str, server: str | None = None) -> Any
    'read_resource' failed: there is no server 'nobody'; there are 'books', 'films', 'plain'
    'read_resource' failed: the server has no resources
    "#);
}

#[test]
fn typescript_programs_use_resources_and_prompts_alike() {
    let mut gateway = gateway();
    let code = "
        for (const it of await list_resources()) console.log(it.server, it.uri);
        for (const it of await list_resource_templates('films')) console.log(it.server, it.uriTemplate);
        for (const it of await list_prompts()) console.log(it.server, it.name, it.arguments);
        console.log(await list_resources('plain'));
        console.log([await read_resource('book://1')]);
        console.log([await read_resource('both://1', 'films')]);
        console.log([await read_resource({ uri: 'films://7' })]);
        console.log(await read_resource({ uri: 'img://1', server: 'films' }));
        console.log([await tools.read_resource('book://1')]);
        const prompt = await get_prompt('books', 'greet', { who: 'Ada' });
        console.log(prompt.description, JSON.parse(prompt.messages[0].content.text));
        for (const wrong of [
          () => read_resource('both://1'),
          () => read_resource('none://1'),
          () => read_resource(1),
          () => read_resource('x', 'nobody'),
          () => read_resource('x', 'plain'),
          () => get_prompt('books'),
        ]) {
          try {
            await wrong();
          } catch (error) {
            console.log(error.message);
          }
        }
    ";
    insta::assert_snapshot!(printed(&gateway.execute_typescript(code)), @r#"
    books book://1
    books both://1
    films both://1
    films img://1
    films films://{id}
    books greet [ { name: 'who', required: true } ]
    films greet [ { name: 'who', required: true } ]
    []
    [ '["books"]' ]
    [ '["films"]' ]
    [ '["films"]' ]
    { uri: 'img://1', mimeType: 'image/png', blob: 'AAAA' }
    [ '["books"]' ]
    d { name: 'greet', arguments: { who: 'Ada' } }
    'read_resource' failed: several servers have it; say which as 'server', one of 'books', 'films'
    'read_resource' failed: no server lists it; say which one has it as 'server'
    'read_resource' failed: it was not called, because its arguments do not fit:
      uri: 1 is of type integer, not string
      await read_resource({ uri: string; server?: string }): Promise<unknown>
    'read_resource' failed: there is no server 'nobody'; there are 'books', 'films', 'plain'
    'read_resource' failed: the server has no resources
    'get_prompt' failed: it was not called, because its arguments do not fit:
      'name' is missing
      await get_prompt({ server: string; name: string; arguments?: Record<string, string> }): Promise<unknown>
    "#);
}

#[test]
fn a_prompt_is_filled_in() {
    let code = "
        import json
        prompt = await get_prompt('books', 'greet', {'who': 'Ada'})
        print(prompt['description'], json.loads(prompt['messages'][0]['content']['text']))
    ";
    let expected = "d {'name': 'greet', 'arguments': {'who': 'Ada'}}\n";
    assert_eq!(gateway().prints(code), expected);
}

#[test]
fn policy_holds_for_what_is_no_tool() {
    let servers = json!([library("books", &["book://1"]), library("films", &["img://1"])]);
    let code = "
        print([it['server'] for it in await list_resources()])
        print([it['server'] for it in await list_prompts()])
        for attempt in [lambda: read_resource('book://1', server='books'),
                        lambda: get_prompt('books', 'greet', {'who': 'x'})]:
            try:
                await attempt()
                print('read')
            except ToolError as error:
                print(error)
    ";
    let run = |tools: Value| {
        Gateway::with_config(&json!({ "servers": servers, "tools": tools })).prints(code)
    };
    insta::assert_snapshot!(run(json!({ "allow": ["mcp__books__noop"] })), @r"
    []
    []
    'mcp__books__resources' is not available in execute_program
    'mcp__books__prompts' is not available in execute_program
    ");
    insta::assert_snapshot!(run(json!({ "allow": ["mcp__books__*"] })), @r"
    ['books']
    ['books']
    read
    read
    ");
    insta::assert_snapshot!(run(json!({ "block": ["mcp__books__resources"] })), @r"
    ['films']
    ['books', 'films']
    'mcp__books__resources' is not available in execute_program
    read
    ");
}

#[test]
fn they_count_as_calls() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [library("books", &["book://1"])], "execution": { "max_tool_calls": 2 },
    }));
    let code = "
        await list_prompts()
        await list_prompts()
        await list_prompts()
    ";
    let failure = gateway.fails(code);
    assert!(
        failure.contains("'list_prompts' was not called: the limit of 2 tool calls"),
        "{failure}"
    );
    assert!(failure.ends_with("[Tool calls completed: 2]"), "{failure}");
}

#[test]
fn a_list_without_end_ends() {
    let endless = script(
        "endless",
        &json!({ "on": { "resources/list": [
            { "answer": { "resources": [], "nextCursor": "again" } },
        ]}}),
    );
    let silent = script("silent", &json!({ "on": { "resources/list": [] } }));
    let mut silent = silent;
    silent["call_timeout_seconds"] = json!(1);
    let mut gateway = Gateway::with_config(&json!({ "servers": [endless, silent] }));
    let code = "
        for server in ['endless', 'silent']:
            try:
                await list_resources(server)
            except ToolError as error:
                print(error)
        print(await list_resources())
    ";
    insta::assert_snapshot!(gateway.prints(code), @r"
    'list_resources' failed: the list does not end: the server sends the same page again
    'list_resources' failed: no answer within 1s
    []
    ");
}
