//! The exact words for everything that can be wrong, one row for each rule.

use std::path::Path;

use onecall_config::Config;

fn environment(name: &str) -> Option<String> {
    match name {
        "SECRET" => Some("hunter2".into()),
        "BREAK" => Some("hunter2\nX: y".into()),
        _ => None,
    }
}

fn problems(text: &str) -> String {
    Config::parse(text, Path::new("c.yaml"), &environment)
        .map_or_else(|errors| errors.to_string(), |config| format!("{config:?}"))
}

/// Each row: a text, and what follows `c.yaml:` for its only problem.
pub(crate) fn assert_rows(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, expected)| (text, format!("c.yaml:{expected}"), problems(text)))
        .filter(|(_, expected, actual)| actual != expected)
        .map(|(text, expected, actual)| {
            format!("{text}\n  expected {expected}\n  got      {actual}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn files() {
    assert_rows(&[
        ("- a", "1:1: the configuration must be a mapping, not a list"),
        ("\n\n  text", "3:3: the configuration must be a mapping, not text"),
        ("a: b: c", "1:5: not valid YAML: mapping values are not allowed in this context"),
        (
            "servers:\n\t- a",
            "2:2: not valid YAML: tabs disallowed within this context (block indentation)",
        ),
        (
            "servers: []\n---\ntools: {}\n",
            "3:1: the file has a second YAML document\n  help: keep one document, without '---' between parts",
        ),
        // The parser counts one line more than there is.
        ("{", "1:2: not valid YAML: while parsing a node, did not find expected node content"),
        (
            "a:\r\n  - [",
            "2:6: not valid YAML: while parsing a node, did not find expected node content",
        ),
        ("tools:\n? ", "2:3: a key in the configuration must be text, not null"),
        ("[a]: b", "1:1: a key in the configuration must be text, not a list"),
        ("~: b", "1:1: a key in the configuration must be text, not null"),
        (
            "servers: !x []",
            "1:10: a tag (!name) that cannot be used here\n  help: remove the tag; quote the value if it is meant as text",
        ),
    ]);
}

#[test]
fn bytes_that_are_not_text() {
    let errors =
        Config::parse_bytes(b"servers: []\n# \xc3\xa9 \xff", Path::new("c.yaml"), &environment)
            .unwrap_err();
    assert_eq!(
        errors.to_string(),
        "c.yaml:2:5: the file is not valid UTF-8 from here on\n  help: save it as UTF-8"
    );
}

#[test]
fn logins() {
    assert_rows(&[
        (
            "servers: {a: {command: x, oauth: {}}}",
            "1:27: 'oauth' is for http and sse servers, but server 'a' uses stdio\n  help: remove it",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {client: x}}}",
            "1:42: unknown key 'client' in 'oauth' of server 'a'\n  help: did you mean 'client_id'?",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {client_secret: x}}}",
            "1:42: 'oauth' of server 'a' has a 'client_secret' without a 'client_id'\n  help: they belong together",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {issuer: 'http://login.example'}}}",
            "1:50: 'issuer' in 'oauth' of server 'a' must be an https:// address\n  help: without '?' and '#', and http:// only on this machine",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {issuer: 'https://login.example?a'}}}",
            "1:50: 'issuer' in 'oauth' of server 'a' must be an https:// address\n  help: without '?' and '#', and http:// only on this machine",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {scopes: ['read write']}}}",
            "1:51: each of 'scopes' in 'oauth' of server 'a' must be one word\n  help: give several as several items",
        ),
        (
            "servers: {a: {url: 'https://h/', oauth: {redirect_port: 0}}}",
            "1:57: 'redirect_port' in 'oauth' of server 'a' must be a whole number from 1 to 65535",
        ),
    ]);
}

#[test]
fn hosts_of_plans() {
    assert_rows(&[
        (
            "proxy: {allowed_hosts: [db.example, localhost]}",
            "1:37: 'localhost' of 'allowed_hosts' in proxy is on this machine or in a private network, and needs a port\n  help: as in 'mcp.example.com' or 'localhost:8080'",
        ),
        (
            "proxy: {allowed_hosts: ['https://db.example']}",
            "1:25: 'https://db.example' of 'allowed_hosts' in proxy must be 'host' or 'host:port'\n  help: as in 'mcp.example.com' or 'localhost:8080'",
        ),
    ]);
}

#[test]
fn what_is_remembered_and_reused() {
    assert_rows(&[
        ("records: all", "1:10: 'all' is not a choice; it can be off, metadata, full"),
        (
            "cache: {scope: proces}",
            "1:16: 'proces' is not a scope; it can be run, process, shared\n  help: did you mean 'process'?",
        ),
        (
            "cache: {ttls: {a-b: 1}}",
            "1:16: a tool pattern may hold only letters, digits, '_' and '*': 'a-b' of 'ttls' in cache",
        ),
        (
            "telemetry: {otlp: \"localhost:4318\"}",
            "1:19: 'otlp' in telemetry must be an http:// or https:// address\n  help: a collector usually listens on http://localhost:4318",
        ),
        (
            "store: {keep_days: 0}",
            "1:20: 'keep_days' in store must be a whole number from 1 to 36500",
        ),
        (
            "generate: {categories: {a: querry}}",
            "1:28: 'querry' is not a category; it can be query, mutation, validation, other\n  help: did you mean 'query'?",
        ),
    ]);
}

#[test]
fn approvals() {
    assert_rows(&[
        (
            "approvals: {asks: [a]}",
            "1:13: unknown key 'asks' in approvals\n  help: did you mean 'ask'?",
        ),
        (
            "approvals: {ask: [a-b]}",
            "1:19: a tool pattern may hold only letters, digits, '_' and '*': 'a-b' of 'ask' in approvals\n  help: patterns match callable names, such as mcp__internal_apis__delete_*",
        ),
        (
            "approvals:\n  hints: [destructiv]",
            "2:11: 'destructiv' is not a hint; it can be destructive, writes, open-world\n  help: did you mean 'destructive'?",
        ),
        (
            "approvals: {wait_seconds: 3601}",
            "1:27: 'wait_seconds' in approvals must be a whole number from 0 to 3600",
        ),
        (
            "approvals: {keep_seconds: -1}",
            "1:27: 'keep_seconds' in approvals must be a whole number from 0 to 86400",
        ),
        (
            "approvals: {expire_seconds: 59}",
            "1:29: 'expire_seconds' in approvals must be a whole number from 60 to 31536000",
        ),
        (
            "approvals: {ways: [shell]}",
            "1:20: 'shell' is not a way to answer; it can be client, cli, page",
        ),
        ("approvals: {ways: cli}", "1:19: 'ways' in approvals must be a list, not text"),
        (
            "approvals:\n  ask: [a]\n  ways: []",
            "3:3: 'ways' in approvals is empty, but 'ask' or 'hints' names calls that need an approval: nobody could answer\n  help: name at least one of client, cli, page, or leave 'ways' out",
        ),
        (
            "store:\n  path: a.db\n  url: postgres://db.example/x",
            "3:3: 'path' and 'url' in store exclude each other\n  help: the store is either a file or a database",
        ),
        (
            "store: {url: \"mysql://ann:hunter2@db.example/x\"}",
            "1:14: 'url' in store must be the address of a PostgreSQL database\n  help: as in 'postgres://onecall:${DATABASE_PASSWORD}@db.example.com/onecall'",
        ),
        (
            "store: {url: \"postgres://ann:${NO_SUCH_SECRET}@db.example/x\"}",
            "1:14: environment variable 'NO_SUCH_SECRET' is not set (in 'url' in store)\n  help: store it with `onecall secrets set NO_SUCH_SECRET`, set it before starting onecall, or write ${NO_SUCH_SECRET:-default}",
        ),
        (
            "approvals:\n  webhook: {url: \"https://h.example/\"}",
            "2:3: 'webhook' in approvals needs 'secret'\n  help: messages are signed with it, so that their receiver can trust them",
        ),
        (
            "approvals:\n  webhook: {secret: x}",
            "2:3: 'webhook' in approvals needs 'url'\n  help: as in 'https://hooks.example.com/onecall'",
        ),
        (
            "approvals: {webhook: {url: \"http://h.example/\", secret: x}}",
            "1:28: 'url' in 'webhook' in approvals must be an https:// address\n  help: http:// is possible only on this machine, as in http://localhost:8080/hook",
        ),
        (
            "approvals: {webhook: {url: \"https://h.example/\", secret: \"${NO_SUCH_SECRET}\"}}",
            "1:58: environment variable 'NO_SUCH_SECRET' is not set (in 'secret' in 'webhook' in approvals)\n  help: store it with `onecall secrets set NO_SUCH_SECRET`, set it before starting onecall, or write ${NO_SUCH_SECRET:-default}",
        ),
        ("durable: maybe", "1:10: 'durable' must be true or false, not text"),
        (
            "store: {journal_mb: 0}",
            "1:21: 'journal_mb' in store must be a whole number from 1 to 1048576",
        ),
    ]);
}

#[test]
fn keys() {
    assert_rows(&[
        (
            "expose_resources: ['']",
            "1:20: an entry of 'expose_resources' is empty\n  help: entries are names of servers; '*' stands for any characters",
        ),
        (
            "server: []",
            "1:1: unknown key 'server' in the configuration\n  help: did you mean 'servers'?",
        ),
        (
            "mcpservers: {}",
            "1:1: unknown key 'mcpservers' in the configuration\n  help: did you mean 'mcpServers'?",
        ),
        (
            "zzz: 1",
            "1:1: unknown key 'zzz' in the configuration\n  help: valid keys are servers, mcpServers, tools, execution, sessions, optional_tools, expose, expose_tools, expose_resources, expose_prompts, expose_names, limits, sandbox, sandbox_without, engine, python, workspace, proxy, local_tools, learn_output_types, generate, records, store, logs, report_savings, cache, approvals, durable, users, fleet, policy, audit, env_inherit, telemetry",
        ),
        (
            "execution:\n  timeout: 3",
            "2:3: unknown key 'timeout' in execution\n  help: did you mean 'timeout_seconds'?",
        ),
        (
            "execution: {timeoutSeconds: 3}",
            "1:13: unknown key 'timeoutSeconds' in execution\n  help: did you mean 'timeout_seconds'?",
        ),
        (
            "tools: {deny: []}",
            "1:9: unknown key 'deny' in tools\n  help: valid keys are allow, block",
        ),
        (
            "servers: [{name: a, command: x, arg: []}]",
            "1:33: unknown key 'arg' in server 'a'\n  help: did you mean 'args'?",
        ),
        (
            "servers: {a: {command: x, <<: {}}}",
            "1:27: unknown key '<<' in server 'a'\n  help: valid keys are name, transport, type, command, args, env, env_inherit, cwd, url, headers, oauth, credentials, disabled, lazy, pin, connect_timeout_seconds, call_timeout_seconds",
        ),
        (
            "servers: {a: {command: x, disabled: true, arg: 1}}",
            "1:43: unknown key 'arg' in server 'a'\n  help: did you mean 'args'?",
        ),
        (
            "servers:\n  a:\n    command: x\n    # command: z\n    args:\n      - command: q\n    command: y\n",
            "7:5: key 'command' is given twice, on line 3 and on line 7\n  help: remove or rename one of them",
        ),
        (
            "servers:\n  \"a\": {command: x}\n  b: {command: x}\n  a: {command: y}\n",
            "4:3: key 'a' is given twice, on line 2 and on line 4\n  help: remove or rename one of them",
        ),
        (
            "servers:\n  - name: a\n    command: x\n  - name: b\n    command: y\n    name: c\n",
            "6:5: key 'name' is given twice, on line 4 and on line 6\n  help: remove or rename one of them",
        ),
        (
            "tools: {allow: [], allow: [a]}",
            "1:20: this key is given twice in one mapping\n  help: remove or rename one of them",
        ),
        (
            r#"{"tools": {"allow": [], "allow": []}}"#,
            "1:25: key 'allow' is given twice, on line 1 and on line 1\n  help: remove or rename one of them",
        ),
    ]);
}

#[test]
fn lists_of_servers() {
    assert_rows(&[
        ("servers: x", "1:10: 'servers' must be a mapping, not text"),
        ("servers: [a]", "1:11: this server must be a mapping, not text"),
        ("mcpServers: [{name: a, command: x}]", "1:13: 'mcpServers' must be a mapping, not a list"),
        (
            "servers: {}\nmcpServers: {}",
            "2:1: 'servers' and 'mcpServers' are both given, on line 1 and on line 2\n  help: move the servers of one into the other",
        ),
        (
            "expose: []\noptional_tools: []",
            "2:1: 'optional_tools' and 'expose' are both given\n  help: they mean the same; keep 'optional_tools'",
        ),
        ("servers: [{command: x}]", "1:11: this server has no name\n  help: give it a 'name'"),
        ("servers: [{name: '', command: x}]", "1:18: a server's name must not be empty"),
        ("servers: {' ': {command: x}}", "1:11: a server's name must not be empty"),
        (
            "servers: [{name: 1, command: x}]",
            "1:18: 'name' of server '1' must be text, not a number\n  help: put it in quotes",
        ),
        (
            "servers: {local: {command: x}}",
            "1:11: the server name 'local' is reserved for local tools\n  help: choose another name",
        ),
        (
            "servers:\n  - {name: a, command: x}\n  - {name: a, command: y}\n",
            "3:12: server 'a' is given twice, on line 2 and on line 3\n  help: rename one of them",
        ),
        (
            "servers: {a: {name: b, command: x}}",
            "1:21: server 'a' has another name inside its entry\n  help: the key is the name; remove 'name'",
        ),
    ]);
}

#[test]
fn transports() {
    assert_rows(&[
        ("servers: {a: }", "1:11: server 'a' has neither a 'command' nor a 'url'"),
        (
            "servers: {a: {command: x, url: 'http://h'}}",
            "1:27: server 'a' has both a 'command' and a 'url'\n  help: a command starts a local server, a url reaches a remote one; keep one",
        ),
        ("servers: {a: {transport: stdio}}", "1:11: server 'a' uses stdio and needs a 'command'"),
        ("servers: {a: {transport: auto}}", "1:11: server 'a' uses http and needs a 'url'"),
        ("servers: {a: {type: http}}", "1:11: server 'a' uses http and needs a 'url'"),
        ("servers: {a: {type: sse}}", "1:11: server 'a' uses sse and needs a 'url'"),
        (
            "servers: {a: {transport: htttp, url: 'http://h'}}",
            "1:26: 'transport' of server 'a' must be stdio, auto, http or sse, not 'htttp'\n  help: did you mean 'http'?",
        ),
        (
            "servers: {a: {type: websocket, url: 'http://h'}}",
            "1:21: 'type' of server 'a' must be stdio, auto, http or sse, not 'websocket'",
        ),
        (
            "servers: {a: {transport: [], command: x}}",
            "1:26: 'transport' of server 'a' must be text, not a list",
        ),
        (
            "servers: {a: {transport: http, type: sse, url: 'http://h'}}",
            "1:11: server 'a' has a 'type' and another 'transport'\n  help: they mean the same; keep one",
        ),
        (
            "servers: {a: {url: 'http://h', args: []}}",
            "1:32: 'args' is for stdio servers, but server 'a' uses http\n  help: remove it",
        ),
        (
            "servers: {a: {url: 'http://h', env: {}}}",
            "1:32: 'env' is for stdio servers, but server 'a' uses http\n  help: remove it",
        ),
        (
            "servers: {a: {type: sse, url: 'http://h', cwd: /}}",
            "1:43: 'cwd' is for stdio servers, but server 'a' uses sse\n  help: remove it",
        ),
        (
            "servers: {a: {command: x, headers: {}}}",
            "1:27: 'headers' is for http and sse servers, but server 'a' uses stdio\n  help: remove it",
        ),
        (
            "servers: {a: {command: x, disabled: 1}}",
            "1:37: 'disabled' of server 'a' must be true or false, not a number",
        ),
        (
            "servers: {a: {command: x, lazy: never}}",
            "1:33: 'lazy' of server 'a' must be true or false, not text",
        ),
        (
            "servers: {a: {command: x, pin: true}}",
            "1:32: 'pin' of server 'a' needs your state directory, where onecall remembers pinned tools\n  help: set HOME or XDG_STATE_HOME",
        ),
    ]);
}

#[test]
fn values() {
    assert_rows(&[
        (
            "servers: {a: {command: 7}}",
            "1:24: 'command' of server 'a' must be text, not a number\n  help: put it in quotes",
        ),
        ("servers: {a: {command: }}", "1:22: 'command' of server 'a' must be text, not null"),
        ("servers: {a: {command: ''}}", "1:24: 'command' of server 'a' must not be empty"),
        (
            "servers: {a: {command: \"a\\0\"}}",
            "1:24: 'command' of server 'a' holds a NUL character",
        ),
        (
            "servers: {a: {command: x, args: y}}",
            "1:33: 'args' of server 'a' must be a list, not text",
        ),
        (
            "servers: {a: {command: x, args: [[]]}}",
            "1:34: each of 'args' of server 'a' must be text, not a list",
        ),
        (
            "servers: {a: {command: x, args: [~]}}",
            "1:34: each of 'args' of server 'a' must be text, not null\n  help: write \"\" for an empty value",
        ),
        (
            "servers: {a: {command: x, env: [A=hunter2]}}",
            "1:32: 'env' of server 'a' must be a mapping, not a list",
        ),
        (
            "servers: {a: {command: x, env: {A=hunter2: 1}}}",
            "1:33: a name in 'env' of server 'a' is not valid",
        ),
        (
            "servers: {a: {command: x, env: {A: {}}}}",
            "1:36: 'A' in 'env' of server 'a' must be text, not a mapping",
        ),
        (
            "servers: {a: {command: x, env: {A: }}}",
            "1:34: 'A' in 'env' of server 'a' must be text, not null\n  help: write \"\" for an empty value",
        ),
        (
            "servers: {a: {command: x, cwd: 1}}",
            "1:32: 'cwd' of server 'a' must be text, not a number\n  help: put it in quotes",
        ),
        (
            "servers: {a: {url: 'ftp://h'}}",
            "1:20: 'url' of server 'a' must be an http:// or https:// address",
        ),
        (
            "servers: {a: {url: 'http://'}}",
            "1:20: 'url' of server 'a' must be an http:// or https:// address",
        ),
        (
            "servers: {a: {url: 'http://h/a b'}}",
            "1:20: 'url' of server 'a' must be an http:// or https:// address",
        ),
        (
            "servers: {a: {url: '${SECRET}'}}",
            "1:20: 'url' of server 'a' must be an http:// or https:// address",
        ),
        (
            "servers: {a: {url: 'http://h', headers: {'X hunter2': y}}}",
            "1:42: a name in 'headers' of server 'a' is not valid",
        ),
        (
            "servers: {a: {url: 'http://h', headers: {X: '${BREAK}'}}}",
            "1:45: 'X' in 'headers' of server 'a' holds a character that is not allowed\n  help: line breaks and other control characters cannot be sent",
        ),
        (
            "servers: {a: {command: x, connect_timeout_seconds: 0}}",
            "1:52: 'connect_timeout_seconds' of server 'a' must be a number above 0 and at most 86400",
        ),
        (
            "servers: {a: {command: x, call_timeout_seconds: 1m}}",
            "1:49: 'call_timeout_seconds' of server 'a' must be a number above 0 and at most 86400, not text",
        ),
    ]);
}

#[test]
fn variables() {
    assert_rows(&[
        (
            "servers: {a: {command: ~/x}}",
            "1:24: environment variable 'HOME' is not set (in 'command' of server 'a')\n  help: set it before starting onecall, or write ${HOME:-default}",
        ),
        // An unset variable and another mistake in one entry.
        (
            "servers: {a: {command: x, args: 1, env: {K: 'hunter2${NO}'}}}",
            "1:33: 'args' of server 'a' must be a list, not a number\nc.yaml:1:45: environment variable 'NO' is not set (in 'K' in 'env' of server 'a')\n  help: store it with `onecall secrets set NO`, set it before starting onecall, or write ${NO:-default}",
        ),
        (
            "servers: {a: {url: 'http://h', headers: {K: 'hunter2 ${hunter2'}}}",
            "1:45: a '${' has no closing '}' (in 'K' in 'headers' of server 'a')\n  help: write ${NAME} or ${NAME:-default}, with a name of letters, digits and _",
        ),
        (
            "servers: {a: {url: 'http://${hunter-2}'}}",
            "1:20: a '${' is not followed by the name of a variable (in 'url' of server 'a')\n  help: write ${NAME} or ${NAME:-default}, with a name of letters, digits and _",
        ),
        (
            "servers: {a: {command: x, cwd: '${A:-${B}}'}}",
            "1:32: a default inside '${…}' contains another '${' (in 'cwd' of server 'a')\n  help: a default is plain text up to the next '}'",
        ),
    ]);
}

#[test]
fn sandboxes() {
    assert_rows(&[
        ("sandbox: none", "1:10: 'none' is not a sandbox; it can be required, best-effort, off"),
        (
            "sandbox: best_efort",
            "1:10: 'best_efort' is not a sandbox; it can be required, best-effort, off\n  help: did you mean 'best-effort'?",
        ),
        ("sandbox: {}", "1:10: 'sandbox' must be text, not a mapping"),
        ("sandbox_without: metadata", "1:18: 'sandbox_without' must be a list, not text"),
        (
            "sandbox_without: [metadta]",
            "1:19: 'metadta' is not a property; it can be files, metadata, network, processes, names, privileges, inheritance, limits\n  help: did you mean 'metadata'?",
        ),
        ("sandbox:", "1:8: 'sandbox' must be text, not null"),
    ]);
}

#[test]
fn engines() {
    assert_rows(&[
        ("engine: ruby", "1:9: 'ruby' is not an engine; it can be auto, python, cpython"),
        (
            "engine: CPython",
            "1:9: 'CPython' is not an engine; it can be auto, python, cpython\n  help: did you mean 'cpython'?",
        ),
        ("engine: 3.14", "1:9: '3.14' is not an engine; it can be auto, python, cpython"),
        ("engine: [python]", "1:9: 'engine' must be text, not a list"),
        ("engine:", "1:7: 'engine' must be text, not null"),
        (
            "engines: auto",
            "1:1: unknown key 'engines' in the configuration\n  help: did you mean 'engine'?",
        ),
    ]);
}

#[test]
fn pythons() {
    assert_rows(&[
        ("python: ''", "1:9: 'python' must not be empty"),
        ("python: ' '", "1:9: 'python' must not be empty"),
        ("python: '${NO:-}'", "1:9: 'python' must not be empty"),
        ("python: 3.13", "1:9: 'python' must be text, not a number\n  help: put it in quotes"),
        ("python: {path: x}", "1:9: 'python' must be text, not a mapping"),
        ("python:", "1:7: 'python' must be text, not null"),
        ("python: \"a\\0\"", "1:9: 'python' holds a NUL character"),
        (
            "python: '${NO}/bin/python'",
            "1:9: environment variable 'NO' is not set (in 'python')\n  help: store it with `onecall secrets set NO`, set it before starting onecall, or write ${NO:-default}",
        ),
        (
            "python: ~/venv",
            "1:9: environment variable 'HOME' is not set (in 'python')\n  help: set it before starting onecall, or write ${HOME:-default}",
        ),
    ]);
}

#[test]
fn workspaces() {
    assert_rows(&[
        ("workspace: ./data", "1:12: workspace must be a mapping, not text"),
        ("workspace: [./data]", "1:12: workspace must be a mapping, not a list"),
        ("\nworkspace:", "2:1: workspace needs a 'path'"),
        ("workspace: {}", "1:1: workspace needs a 'path'"),
        ("workspace: {mode: read-write, max_bytes: 1}", "1:1: workspace needs a 'path'"),
        (
            "workspace: {path: d, maxbytes: 1}",
            "1:22: unknown key 'maxbytes' in workspace\n  help: did you mean 'max_bytes'?",
        ),
        (
            "workspace: {path: d, writable: true}",
            "1:22: unknown key 'writable' in workspace\n  help: valid keys are path, mode, max_bytes",
        ),
        ("workspace: {path: }", "1:17: 'path' in workspace must be text, not null"),
        (
            "workspace: {path: 7}",
            "1:19: 'path' in workspace must be text, not a number\n  help: put it in quotes",
        ),
        ("workspace: {path: ''}", "1:19: 'path' in workspace must not be empty"),
        ("workspace: {path: '${NO:-}'}", "1:19: 'path' in workspace must not be empty"),
        ("workspace: {path: \"a\\0\"}", "1:19: 'path' in workspace holds a NUL character"),
        (
            "workspace: {path: '${NO}'}",
            "1:19: environment variable 'NO' is not set (in 'path' in workspace)\n  help: store it with `onecall secrets set NO`, set it before starting onecall, or write ${NO:-default}",
        ),
        (
            "workspace: {path: d, mode: readwrite}",
            "1:28: 'readwrite' is not a workspace mode; it can be read-only, read-write\n  help: did you mean 'read-write'?",
        ),
        (
            "workspace: {path: d, mode: rw, max_bytes: 1}",
            "1:28: 'rw' is not a workspace mode; it can be read-only, read-write",
        ),
        ("workspace: {path: d, mode: {}}", "1:28: 'mode' in workspace must be text, not a mapping"),
    ]);
}

#[test]
fn workspaces_that_are_the_whole_disk() {
    for path in ["/", "//", "/./", "/..", "/srv/..", "/a/../../b/.."] {
        let text = format!("workspace: {{path: {path}}}");
        let problem = "c.yaml:1:19: 'path' in workspace must not be '/', the whole disk\n  help: give programs a folder of their own";
        assert_eq!(problems(&text), problem, "{path}");
    }
}

#[test]
fn sizes_of_workspaces() {
    let read_only = "1:22: 'max_bytes' is for a read-write workspace, but this one is read-only\n  help: remove it, or add 'mode: read-write'";
    assert_rows(&[
        ("workspace: {path: d, max_bytes: 1}", read_only),
        ("workspace: {path: d, max_bytes: 0, mode: read-only}", read_only),
    ]);
    let range = "'max_bytes' in workspace must be a whole number from 1 to 1125899906842624";
    for (size, suffix) in [
        ("0", ""),
        ("-1", ""),
        ("1.5", ""),
        ("1125899906842625", ""),
        ("99999999999999999999", ""),
        ("100MB", ", not text"),
        ("~", ", not null"),
    ] {
        let text = format!("workspace: {{path: d, mode: read-write, max_bytes: {size}}}");
        assert_eq!(problems(&text), format!("c.yaml:1:51: {range}{suffix}"));
    }
}

#[test]
fn policies() {
    assert_rows(&[
        ("tools: []", "1:8: tools must be a mapping, not a list"),
        (
            "tools: {allow: [a], block: [b]}",
            "1:21: tools has both 'allow' (line 1) and 'block' (line 1)\n  help: keep one of them",
        ),
        ("tools: {allow: }", "1:14: 'allow' in tools must be a list, not null"),
        ("tools: {block: a}", "1:16: 'block' in tools must be a list, not text"),
        ("tools: {block: [{}]}", "1:17: a pattern of 'block' in tools must be text, not a mapping"),
        (
            "tools: {block: ['']}",
            "1:17: a tool pattern must not be empty: '' of 'block' in tools\n  help: patterns match callable names, such as mcp__internal_apis__delete_*",
        ),
        (
            "tools: {allow: [mcp__a-b__c]}",
            "1:17: a tool pattern may hold only letters, digits, '_' and '*': 'mcp__a-b__c' of 'allow' in tools\n  help: patterns match callable names, such as mcp__internal_apis__delete_*",
        ),
    ]);
}

#[test]
fn limits() {
    let timeout = "'timeout_seconds' in execution must be a number above 0 and at most 86400";
    let output = "'max_output_bytes' in execution must be a whole number from 1 to 104857600";
    let memory = "'memory_mb' in execution must be a whole number from 16 to 1048576";
    let calls = "'max_tool_calls' in execution must be a whole number from 0 to 10000000";
    let parallel = "'max_parallel_calls' in execution must be a whole number from 1 to 10000";
    let programs = "'max_programs' in execution must be a whole number from 1 to 10000";
    let total = "'max_total_memory_mb' in execution must be a whole number from 16 to 1073741824";
    let rows = [
        ("timeout_seconds: 0", timeout, ""),
        ("timeout_seconds: -1", timeout, ""),
        ("timeout_seconds: 86400.5", timeout, ""),
        ("timeout_seconds: .nan", timeout, ""),
        ("timeout_seconds: .inf", timeout, ""),
        ("timeout_seconds: 1e-20", timeout, ""),
        ("timeout_seconds: '5'", timeout, ", not text"),
        ("timeout_seconds: ~", timeout, ", not null"),
        ("max_output_bytes: 0", output, ""),
        ("max_output_bytes: 104857601", output, ""),
        ("max_output_bytes: 1.5", output, ""),
        ("memory_mb: 15", memory, ""),
        ("memory_mb: 1048577", memory, ""),
        ("memory_mb: true", memory, ", not a boolean"),
        ("max_tool_calls: -1", calls, ""),
        ("max_tool_calls: 10000001", calls, ""),
        ("max_tool_calls: 99999999999999999999", calls, ""),
        ("max_parallel_calls: 0", parallel, ""),
        ("max_parallel_calls: 10001", parallel, ""),
        ("max_parallel_calls: []", parallel, ", not a list"),
        ("max_programs: 0", programs, ""),
        ("max_programs: 10001", programs, ""),
        ("max_total_memory_mb: 15", total, ""),
        ("max_total_memory_mb: 1073741825", total, ""),
    ];
    for (text, expected, suffix) in rows {
        let column = 13 + text.find(' ').unwrap() + 1;
        let expected = format!("c.yaml:1:{column}: {expected}{suffix}");
        assert_eq!(problems(&format!("execution: {{{text}}}")), expected);
    }
    assert_rows(&[("execution: 3", "1:12: execution must be a mapping, not a number")]);
    assert_rows(&[(
        "execution: {memory_mb: 512, max_total_memory_mb: 511}",
        "1:50: 'max_total_memory_mb' in execution is 511, less than the 512 of one program \
         ('memory_mb')\n  help: raise it, or lower 'memory_mb'",
    )]);
    assert_rows(&[
        (
            "limits: {max_message_mb: 0}",
            "1:26: 'max_message_mb' in limits must be a whole number from 1 to 1024",
        ),
        (
            "limits: {max_schema_depth: deep}",
            "1:28: 'max_schema_depth' in limits must be a whole number from 1 to 100, not text",
        ),
        (
            "limits: {max_page: 1}",
            "1:10: unknown key 'max_page' in limits\n  help: did you mean 'max_pages'?",
        ),
    ]);
}

#[test]
fn everything_wrong_at_once() {
    let text = r#"
servers:
  - name: files
    comand: node
    args: node
  - name: files
    url: http://localhost
    env: {TOKEN: "hunter2"}
  - name: local
    transport: htpp
    url: localhost:8080
    headers: {Authorization: "Bearer ${NOT_SET}"}
  - transport: sse
tools:
  allow: ["mcp__a__*", "not a name"]
  blok: []
execution:
  timeout: 30
  memory_mb: lots
  max_parallel_calls: 0
engine: pyton
python: 3.13
workspace:
  mode: read-only
  max_bytes: 10
loging: true
"#;
    insta::assert_snapshot!(problems(text), @r#"
    c.yaml:3:5: server 'files' has neither a 'command' nor a 'url'
    c.yaml:4:5: unknown key 'comand' in server 'files'
      help: did you mean 'command'?
    c.yaml:6:11: server 'files' is given twice, on line 3 and on line 6
      help: rename one of them
    c.yaml:8:5: 'env' is for stdio servers, but server 'files' uses http
      help: remove it
    c.yaml:9:11: the server name 'local' is reserved for local tools
      help: choose another name
    c.yaml:10:16: 'transport' of server 'local' must be stdio, auto, http or sse, not 'htpp'
      help: did you mean 'http'?
    c.yaml:11:10: 'url' of server 'local' must be an http:// or https:// address
    c.yaml:12:30: environment variable 'NOT_SET' is not set (in 'Authorization' in 'headers' of server 'local')
      help: store it with `onecall secrets set NOT_SET`, set it before starting onecall, or write ${NOT_SET:-default}
    c.yaml:13:5: this server has no name
      help: give it a 'name'
    c.yaml:13:5: this server uses sse and needs a 'url'
    c.yaml:15:24: a tool pattern may hold only letters, digits, '_' and '*': 'not a name' of 'allow' in tools
      help: patterns match callable names, such as mcp__internal_apis__delete_*
    c.yaml:16:3: unknown key 'blok' in tools
      help: did you mean 'block'?
    c.yaml:18:3: unknown key 'timeout' in execution
      help: did you mean 'timeout_seconds'?
    c.yaml:19:14: 'memory_mb' in execution must be a whole number from 16 to 1048576, not text
    c.yaml:20:23: 'max_parallel_calls' in execution must be a whole number from 1 to 10000
    c.yaml:21:9: 'pyton' is not an engine; it can be auto, python, cpython
      help: did you mean 'python'?
    c.yaml:22:9: 'python' must be text, not a number
      help: put it in quotes
    c.yaml:23:1: workspace needs a 'path'
    c.yaml:25:3: 'max_bytes' is for a read-write workspace, but this one is read-only
      help: remove it, or add 'mode: read-write'
    c.yaml:26:1: unknown key 'loging' in the configuration
      help: valid keys are servers, mcpServers, tools, execution, sessions, optional_tools, expose, expose_tools, expose_resources, expose_prompts, expose_names, limits, sandbox, sandbox_without, engine, python, workspace, proxy, local_tools, learn_output_types, generate, records, store, logs, report_savings, cache, approvals, durable, users, fleet, policy, audit, env_inherit, telemetry
    "#);
}
