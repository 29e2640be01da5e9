//! What valid configurations mean, one row for each rule.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onecall_config::{
    ApprovalSettings, Config, ExposedNames, GenerateConfig, OAuthConfig, OutputTypeSource,
    PerUserSettings, RecordLevel, RemoteTransport, SandboxMode, SandboxProperty, Secret,
    ServerConfig, ServerLimits, StdioTransport, StoreConfig, TelemetryConfig, Transport,
    UnresolvedTransport, Webhook,
};
use onecall_core::{
    ApprovalWay, CacheScope, CacheSettings, EngineChoice, EngineName, RunLimits, ServerName,
    ToolCategory, ToolHint, ToolPattern, ToolPolicy, TotalLimits, Workspace, WorkspaceAccess,
};

fn environment(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/ada".into()),
        "TOKEN" => Some("t0ken".into()),
        "HOST" => Some("localhost:8080".into()),
        _ => None,
    }
}

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("/etc/onecall/onecall.yaml"), &environment)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn secrets(pairs: &[(&str, &str)]) -> BTreeMap<String, Secret> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect()
}

fn server(name: &str, transport: Transport) -> ServerConfig {
    ServerConfig {
        name: ServerName::new(name),
        transport,
        connect_timeout: None,
        call_timeout: None,
        lazy: false,
        pins: None,
        per_user: PerUserSettings::default(),
    }
}

fn stdio(command: &str) -> StdioTransport {
    StdioTransport { command: command.into(), args: vec![], env: BTreeMap::new(), cwd: None }
}

fn remote(url: &str) -> RemoteTransport {
    let oauth = Some(OAuthConfig::default());
    RemoteTransport { url: url.into(), headers: BTreeMap::new(), oauth }
}

/// Compared piece by piece: a difference in a hidden value must be seen too.
fn assert_servers(text: &str, expected: &[ServerConfig]) {
    assert!(parse(text).servers == expected, "{text}\n{:#?}", parse(text).servers);
}

#[test]
fn an_anchor_is_no_part_of_a_value() {
    let text = |value: &str| format!("servers: {{a: {{command: x, env: {{A: {value}}}}}}}");
    let read = |text: &str| Config::parse(text, Path::new("c.yaml"), &|_| None).unwrap();
    for value in ["8080", "0x10", "true", "1.50"] {
        assert_eq!(read(&text(&format!("&anchor {value}"))), read(&text(value)), "{value}");
    }
}

#[test]
fn a_variable_that_is_not_set_leaves_out_its_server_alone() {
    let unresolved = |name: &str, kind: &'static str, variables: &[&str]| {
        let variables = variables.iter().map(|name| (*name).to_owned()).collect();
        server(
            name,
            Transport::Unresolved(UnresolvedTransport {
                kind,
                variables,
                credentials_problem: None,
            }),
        )
    };
    let text = "
        servers:
          a: {command: x, args: ['${B}', '${A:-a}', '${TOKEN}'], env: {K: 'hunter2${A}', L: '${B}'}}
          b: {command: y}
          c: {url: '${BASE}/mcp', lazy: true}
          d: {command: '${NO}', disabled: true}
    ";
    let lazy = ServerConfig { lazy: true, ..unresolved("c", "http", &["BASE"]) };
    let expected =
        [unresolved("a", "stdio", &["B", "A"]), server("b", Transport::Stdio(stdio("y"))), lazy];
    assert_servers(text, &expected);
}

#[test]
fn nothing_configured() {
    let texts = [
        "",
        "\n\n",
        "# only a comment\n",
        "---\n",
        "---\n# c\n...\n",
        "null",
        "~",
        "{}",
        "{ }\n",
        "servers:",
        "servers: null",
        "servers: []",
        "servers: {}",
        "mcpServers:",
        "mcpServers: {}",
        "tools:\nexecution:\n",
        "tools: {}\nexecution: {}\n",
        "\u{feff}",
        "\u{feff}servers: []",
    ];
    for text in texts {
        assert_eq!(parse(text), Config::default(), "{text:?}");
    }
}

#[test]
fn the_example_of_the_design() {
    let text = r#"
servers:
  - name: financial-data
    transport: stdio
    command: node
    args: ["./financial-data-mcp/dist/index.js"]
    env: { API_KEY: "${TOKEN}" }
  - name: internal-apis
    transport: sse
    url: "http://localhost:8080/mcp"
    headers: { Authorization: "Bearer ${TOKEN}" }
tools:
  block: ["mcp__internal_apis__delete_*"]
execution:
  timeout_seconds: 120
  max_output_bytes: 65536
  memory_mb: 512
  max_tool_calls: 1000
  max_parallel_calls: 64
"#;
    let financial = StdioTransport {
        args: vec!["./financial-data-mcp/dist/index.js".into()],
        env: secrets(&[("API_KEY", "t0ken")]),
        ..stdio("node")
    };
    let internal = RemoteTransport {
        headers: secrets(&[("Authorization", "Bearer t0ken")]),
        oauth: None,
        ..remote("http://localhost:8080/mcp")
    };
    let expected = Config {
        servers: vec![
            server("financial-data", Transport::Stdio(financial)),
            server("internal-apis", Transport::Sse(internal)),
        ],
        tools: ToolPolicy::Block(vec![ToolPattern::parse("mcp__internal_apis__delete_*").unwrap()]),
        ..Config::default()
    };
    assert!(parse(text) == expected, "{:#?}", parse(text));
}

#[test]
fn limits_of_servers() {
    let default = ServerLimits::default();
    let cases = [
        ("", default),
        ("max_message_mb: 2", ServerLimits { max_message_bytes: 2 << 20, ..default }),
        ("max_result_mb: 1024", ServerLimits { max_result_bytes: 1 << 30, ..default }),
        ("max_tools: 50", ServerLimits { max_tools: 50, ..default }),
        ("max_pages: 3", ServerLimits { max_pages: 3, ..default }),
        ("max_schema_depth: 100", ServerLimits { max_schema_depth: 100, ..default }),
        ("max_description_chars: 0", ServerLimits { max_description_chars: 0, ..default }),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(&format!("limits: {{{text}}}")).limits, expected, "{text}");
    }
}

#[test]
fn shapes_and_transports() {
    let command = || vec![server("a", Transport::Stdio(stdio("x")))];
    let auto = || vec![server("a", Transport::Auto(remote("https://h/mcp")))];
    let http = || vec![server("a", Transport::Http(remote("https://h/mcp")))];
    let sse = || vec![server("a", Transport::Sse(remote("http://h")))];
    let rows = [
        ("servers: [{name: a, command: x}]", command()),
        ("servers: {a: {command: x}}", command()),
        ("servers: {a: {name: a, command: x}}", command()),
        ("mcpServers: {a: {command: x}}", command()),
        ("mcpServers: {a: {type: stdio, command: x}}", command()),
        ("servers: [{name: a, transport: stdio, type: stdio, command: x}]", command()),
        ("servers: {a: {command: x, args: , env: }}", command()),
        ("servers: {a: {command: x, disabled: false}}", command()),
        ("servers: {a: {url: 'https://h/mcp'}}", auto()),
        ("servers: {a: {transport: auto, url: 'https://h/mcp'}}", auto()),
        ("servers: {a: {transport: http, url: 'https://h/mcp'}}", http()),
        ("servers: {a: {type: streamable-http, url: 'https://h/mcp'}}", http()),
        ("servers: {a: {type: streamable_http, url: 'https://h/mcp'}}", http()),
        ("servers: {a: {type: streamableHttp, url: 'https://h/mcp', headers: }}", http()),
        ("servers: {a: {type: sse, url: 'http://h'}}", sse()),
        ("servers: [{name: a, command: x, disabled: true}]", vec![]),
        // A disabled entry may lack variables and share its name.
        (
            "servers: [{name: a, command: '${NO}', disabled: true}, {name: a, command: x}]",
            command(),
        ),
        (
            "servers: {a-b: {command: x}, a_b: {command: x}}",
            vec![
                server("a-b", Transport::Stdio(stdio("x"))),
                server("a_b", Transport::Stdio(stdio("x"))),
            ],
        ),
        ("servers: {1: {command: x}}", vec![server("1", Transport::Stdio(stdio("x")))]),
    ];
    for (text, expected) in rows {
        assert_servers(text, &expected);
    }
}

#[test]
fn values_of_entries() {
    let with = |transport| vec![server("a", Transport::Stdio(transport))];
    let rows = [
        ("{a: {command: ~/bin/x}}", with(stdio("/home/ada/bin/x"))),
        ("{a: {command: ./x}}", with(stdio("./x"))),
        ("{a: {command: '${NO:-node}'}}", with(stdio("node"))),
        (
            "{a: {command: x, cwd: '~/w/${TOKEN}'}}",
            with(StdioTransport { cwd: Some(PathBuf::from("/home/ada/w/t0ken")), ..stdio("x") }),
        ),
        (
            "{a: {command: x, args: [-p, 8080, 0x1F, 1.50, true, '~/x', $HOME, '${TOKEN}', '']}}",
            with(StdioTransport {
                args: ["-p", "8080", "0x1F", "1.50", "true", "~/x", "$HOME", "t0ken", ""]
                    .map(String::from)
                    .to_vec(),
                ..stdio("x")
            }),
        ),
        (
            "{a: {command: ü, env: {PORT: 8080, ON: True, R: 1e3, E: '', Q: '8', Ü: é}}}",
            with(StdioTransport {
                env: secrets(&[
                    ("PORT", "8080"),
                    ("ON", "True"),
                    ("R", "1e3"),
                    ("E", ""),
                    ("Q", "8"),
                    ("Ü", "é"),
                ]),
                ..stdio("ü")
            }),
        ),
        (
            "{a: {url: 'http://${HOST}/mcp', headers: {X-Version: 2, x: \"a\tb\"}}}",
            vec![server(
                "a",
                Transport::Auto(RemoteTransport {
                    headers: secrets(&[("X-Version", "2"), ("x", "a\tb")]),
                    ..remote("http://localhost:8080/mcp")
                }),
            )],
        ),
        (
            "{a: {command: x, connect_timeout_seconds: 0.5, call_timeout_seconds: 86400}}",
            vec![ServerConfig {
                connect_timeout: Some(Duration::from_millis(500)),
                call_timeout: Some(Duration::from_secs(86_400)),
                ..server("a", Transport::Stdio(stdio("x")))
            }],
        ),
        (
            "{a: {command: x, lazy: true}, b: {command: x, lazy: false}}",
            vec![
                ServerConfig { lazy: true, ..server("a", Transport::Stdio(stdio("x"))) },
                server("b", Transport::Stdio(stdio("x"))),
            ],
        ),
    ];
    for (text, expected) in rows {
        assert_servers(&format!("servers: {text}"), &expected);
    }
    let [pinned] = &parse("servers: {a: {command: x, pin: true}}").servers[..] else {
        panic!("one server")
    };
    let file = pinned.pins.as_deref().unwrap_or(Path::new(""));
    assert_eq!(file.parent(), Some(Path::new("/home/ada/.local/state/onecall/pins")));
}

#[test]
fn limits() {
    let default = RunLimits::default;
    let rows = [
        ("timeout_seconds: 0.25", RunLimits { timeout: Duration::from_millis(250), ..default() }),
        ("timeout_seconds: 86400", RunLimits { timeout: Duration::from_secs(86_400), ..default() }),
        ("max_output_bytes: 1", RunLimits { max_output_bytes: 1, ..default() }),
        ("max_output_bytes: 104857600", RunLimits { max_output_bytes: 104_857_600, ..default() }),
        ("memory_mb: 16", RunLimits { memory_bytes: 16 << 20, ..default() }),
        ("memory_mb: 1048576", RunLimits { memory_bytes: 1 << 40, ..default() }),
        ("max_tool_calls: 0", RunLimits { max_tool_calls: 0, ..default() }),
        ("max_tool_calls: 10000000", RunLimits { max_tool_calls: 10_000_000, ..default() }),
        ("max_parallel_calls: 10000", RunLimits { max_parallel_calls: 10_000, ..default() }),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(&format!("execution: {{{text}}}")).execution, expected, "{text}");
    }
}

#[test]
fn totals() {
    let default = TotalLimits { max_programs: 256, memory_bytes: None };
    let memory = |mebibytes: u64| TotalLimits { memory_bytes: Some(mebibytes << 20), ..default };
    let rows = [
        ("", default),
        ("max_programs: 1", TotalLimits { max_programs: 1, ..default }),
        ("max_programs: 10000", TotalLimits { max_programs: 10_000, ..default }),
        ("max_total_memory_mb: 512", memory(512)),
        ("memory_mb: 16, max_total_memory_mb: 16", memory(16)),
        ("max_total_memory_mb: 1073741824", memory(1 << 30)),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(&format!("execution: {{{text}}}")).totals, expected, "{text}");
    }
    // A program may use no more than all of them, unless it is said to.
    let less = parse("execution: {max_total_memory_mb: 100}");
    assert_eq!(less.execution.memory_bytes, 100 << 20);
}

#[test]
fn policies() {
    let pattern = |text| ToolPattern::parse(text).unwrap();
    let rows = [
        ("allow: [mcp__a__*, '*']", ToolPolicy::Allow(vec![pattern("mcp__a__*"), pattern("*")])),
        ("allow: []", ToolPolicy::Allow(vec![])),
        ("block: [x]", ToolPolicy::Block(vec![pattern("x")])),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(&format!("tools: {{{text}}}")).tools, expected, "{text}");
    }
}

#[test]
fn sandboxes() {
    let rows = [
        ("{}", SandboxMode::Required),
        ("sandbox: required", SandboxMode::Required),
        ("sandbox: best-effort", SandboxMode::BestEffort),
        ("sandbox: off", SandboxMode::Off),
        ("{\"sandbox\": \"off\"}", SandboxMode::Off),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).sandbox, expected, "{text}");
    }
    let text = "sandbox_without: [metadata, names]";
    assert_eq!(parse(text).sandbox_without, [SandboxProperty::Metadata, SandboxProperty::Names]);
    assert_eq!(parse("servers: []").sandbox_without, []);
}

#[test]
fn engines() {
    let rows = [
        ("{}", EngineChoice::Auto),
        ("engine: auto", EngineChoice::Auto),
        ("engine: python", EngineChoice::Only(EngineName::Python)),
        ("engine: cpython", EngineChoice::Only(EngineName::CPython)),
        ("{\"engine\": \"cpython\"}", EngineChoice::Only(EngineName::CPython)),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).engine, expected, "{text}");
    }
}

#[test]
fn pythons() {
    let rows = [
        ("{}", None),
        ("python: python3.13", Some("python3.13")),
        ("python: '3.13'", Some("3.13")),
        ("python: .venv", Some(".venv")),
        ("python: ./.venv", Some("/etc/onecall/.venv")),
        ("python: venv/bin/python", Some("/etc/onecall/venv/bin/python")),
        ("python: ../venv", Some("/etc/onecall/../venv")),
        ("python: /usr/bin/python3", Some("/usr/bin/python3")),
        ("python: ~/venv", Some("/home/ada/venv")),
        ("python: '${HOME}/venv'", Some("/home/ada/venv")),
        ("python: '${TOKEN}/venv'", Some("/etc/onecall/t0ken/venv")),
        ("python: '${TOKEN}'", Some("t0ken")),
        ("python: '${NO:-python3}'", Some("python3")),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).python, expected.map(PathBuf::from), "{text}");
    }
}

#[test]
fn workspaces() {
    let read_only = |path: &str| {
        Some(Workspace { path: PathBuf::from(path), access: WorkspaceAccess::ReadOnly })
    };
    let read_write = |path: &str, max_bytes| {
        let access = WorkspaceAccess::ReadWrite { max_bytes };
        Some(Workspace { path: PathBuf::from(path), access })
    };
    let rows = [
        ("{}", None),
        ("workspace: {path: ./data}", read_only("/etc/onecall/data")),
        ("workspace: {path: data/}", read_only("/etc/onecall/data")),
        ("workspace: {path: .}", read_only("/etc/onecall")),
        ("workspace: {path: ..}", read_only("/etc/onecall/..")),
        ("workspace: {path: /srv//data/./in}", read_only("/srv/data/in")),
        ("workspace: {path: ~/data}", read_only("/home/ada/data")),
        ("workspace: {path: '${HOME}/${TOKEN}'}", read_only("/home/ada/t0ken")),
        ("workspace: {path: '${NO:-data}'}", read_only("/etc/onecall/data")),
        ("workspace: {path: /d, mode: read-only}", read_only("/d")),
        ("workspace: {path: /d, mode: read-write}", read_write("/d", 104_857_600)),
        ("workspace: {path: /d, mode: read-write, max_bytes: 1}", read_write("/d", 1)),
        (
            "workspace: {path: /d, mode: read-write, max_bytes: 1125899906842624}",
            read_write("/d", 1 << 50),
        ),
        (
            r#"{"workspace": {"max_bytes": 7, "mode": "read-write", "path": "d"}}"#,
            read_write("/etc/onecall/d", 7),
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).workspace, expected, "{text}");
    }
}

/// A file in the working directory may be named without any folder.
#[test]
fn paths_beside_a_file_without_a_folder() {
    let text = "{python: ./venv, workspace: {path: data}}";
    let config = Config::parse(text, Path::new("onecall.yaml"), &environment).unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(config.python, Some(here.join("venv")));
    assert_eq!(config.workspace.map(|workspace| workspace.path), Some(here.join("data")));
}

#[test]
fn who_logs_in_and_how() {
    let login = |entry: &str| match parse(&format!("servers: {{a: {entry}}}")).servers.remove(0) {
        ServerConfig { transport: Transport::Auto(remote), .. } => remote.oauth,
        other => panic!("{other:?}"),
    };
    let given = OAuthConfig {
        issuer: Some("https://login.example/t0ken".into()),
        client_id: Some("t0ken".into()),
        client_secret: Some(Secret::new("t0ken")),
        scopes: vec!["read".into(), "files:write".into()],
        redirect_port: Some(8123),
    };
    let rows = [
        ("{url: 'https://h/'}", Some(OAuthConfig::default())),
        ("{url: 'https://h/', oauth: }", Some(OAuthConfig::default())),
        (
            "{url: 'https://h/', oauth: {issuer: 'https://login.example/${TOKEN}', \
             client_id: '${TOKEN}', client_secret: '${TOKEN}', \
             scopes: [read, 'files:write'], redirect_port: 8123}}",
            Some(given),
        ),
        // A server with credentials in its entry needs no login.
        ("{url: 'https://h/', headers: {authorization: x}}", None),
        ("{url: 'https://h/', headers: {Authorization: x}, oauth: {client_id: y}}", None),
        ("{url: 'https://me:x@h/mcp'}", None),
    ];
    for (entry, expected) in rows {
        assert_eq!(login(entry), expected, "{entry}");
    }
}

#[test]
fn debug_output_hides_secrets() {
    let text = r#"
servers:
  a: {command: x, args: ["--key=${TOKEN}"], env: {K: "${TOKEN}"}}
  b: {url: "https://user:${TOKEN}@h.example:1/p/${TOKEN}?k=${TOKEN}", headers: {K: "${TOKEN}"}}
"#;
    let shown: Vec<_> =
        parse(text).servers.iter().map(|server| format!("{:?}", server.transport)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Stdio(StdioTransport { command: "x", args: [1 hidden], env: {"K": [secret]}, cwd: None })
    Auto(RemoteTransport { host: "h.example:1", headers: {"K": [secret]}, .. })
    "#);
}

#[test]
fn approvals() {
    let plain = ApprovalSettings::default();
    assert_eq!(parse("cache: {}").approvals, None);
    assert_eq!(parse("approvals: {}").approvals, Some(plain.clone()));
    let text = r#"
approvals:
  ask: ["mcp__*__delete_*"]
  hints: [destructive, writes, open-world]
  wait_seconds: 0
  keep_seconds: 1
  expire_seconds: 60
  ways: [cli, client, cli]
  webhook: { url: "http://127.0.0.1:8080/${TOKEN}", secret: "${TOKEN}" }
durable: true
"#;
    let config = parse(text);
    let expected = ApprovalSettings {
        ask: vec![ToolPattern::parse("mcp__*__delete_*").unwrap()],
        hints: ToolHint::ALL.to_vec(),
        wait: Duration::ZERO,
        keep: Duration::from_secs(1),
        expire: Duration::from_secs(60),
        ways: vec![ApprovalWay::Cli, ApprovalWay::Client],
        webhook: Some(Webhook {
            url: "http://127.0.0.1:8080/t0ken".to_owned(),
            secret: Secret::new("t0ken"),
        }),
    };
    assert!(config.durable);
    let shown = format!("{config:?}");
    assert!(!shown.contains("t0ken"), "{shown}");
    assert_eq!(config.approvals, Some(expected));
    // Nothing asks, so nothing has to be answered.
    assert_eq!(parse("approvals: {ways: []}").approvals.unwrap().ways, []);
    assert!(plain.policy().is_empty());
}

#[test]
fn what_is_remembered_and_reused() {
    let pattern = |text| ToolPattern::parse(text).unwrap();
    let plain = Config::default;
    let cache = CacheSettings::default;
    let rows = [
        ("records: off", Config { records: RecordLevel::Off, ..plain() }),
        ("records: full", Config { records: RecordLevel::Full, ..plain() }),
        ("report_savings: true", Config { report_savings: true, ..plain() }),
        (
            "learn_output_types: false",
            Config { output_types: OutputTypeSource::Declared, ..plain() },
        ),
        (
            "expose_tools: [mcp__a__*]",
            Config { expose_tools: vec![pattern("mcp__a__*")], ..plain() },
        ),
        (
            "expose_resources: [my-files, 'team*']",
            Config { expose_resources: vec![pattern("my_files"), pattern("team*")], ..plain() },
        ),
        (
            "{expose_prompts: ['*'], expose_names: own}",
            Config {
                expose_prompts: vec![pattern("*")],
                expose_names: ExposedNames::Own,
                ..plain()
            },
        ),
        (
            "store: {path: state.db, keep_days: 2, max_mb: 3, journal_mb: 4}",
            Config {
                store: StoreConfig {
                    path: Some("/etc/onecall/state.db".into()),
                    url: None,
                    max_age: Duration::from_secs(2 * 86_400),
                    max_bytes: 3 << 20,
                    journal_mb: 4,
                },
                ..plain()
            },
        ),
        (
            "store: {url: \"postgres://ann:${TOKEN}@db.example/x\"}",
            Config {
                store: StoreConfig {
                    url: Some(Secret::new("postgres://ann:t0ken@db.example/x")),
                    ..StoreConfig::default()
                },
                ..plain()
            },
        ),
        ("cache: {}", Config { cache: Some(cache()), ..plain() }),
        (
            "cache: {scope: run, include: [a], exclude: [b], ttl_seconds: 5, ttls: {c: 7}, max_mb: 1}",
            Config {
                cache: Some(CacheSettings {
                    scope: CacheScope::Run,
                    include: vec![pattern("a")],
                    exclude: vec![pattern("b")],
                    ttl: Duration::from_secs(5),
                    ttls: vec![(pattern("c"), Duration::from_secs(7))],
                    max_bytes: 1 << 20,
                }),
                ..plain()
            },
        ),
        (
            "telemetry: {otlp: \"http://${HOST}\"}",
            Config {
                telemetry: TelemetryConfig { otlp: Some("http://localhost:8080".into()) },
                ..plain()
            },
        ),
        (
            "generate: {categories: {mcp__a__x: query, \"*\": other}}",
            Config {
                generate: GenerateConfig {
                    categories: vec![
                        (pattern("mcp__a__x"), ToolCategory::Query),
                        (pattern("*"), ToolCategory::Other),
                    ],
                },
                ..plain()
            },
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text), expected, "{text}");
    }
}
