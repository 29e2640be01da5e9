//! Configurations of ptc-mcp: how they are distinguished from onecall's own, and how they are read.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onecall_config::{
    Config, ConfigFormat, ConfigOrigin, Environment, FoundConfigFile, ParsedConfig, StdioTransport,
    Transport,
};
use onecall_core::{ToolPattern, ToolPolicy};

const FILE: &str = "/srv/config.yaml";

fn environment(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/ada".to_owned()),
        "TOKEN" => Some("t0ken".to_owned()),
        _ => None,
    }
}

fn found(text: &str, path: &str, origin: ConfigOrigin) -> FoundConfigFile {
    FoundConfigFile { path: PathBuf::from(path), bytes: text.as_bytes().to_vec(), origin }
}

/// What is made of a file that the variable of ptc-mcp names, and that is one of its own.
fn read(text: &str) -> Result<ParsedConfig, String> {
    let found = found(text, FILE, ConfigOrigin::Named("PTC_MCP_CONFIG"));
    assert_eq!(found.format(), ConfigFormat::PtcMcp, "{text}");
    found
        .parse(&Environment::new(&environment))
        .map_err(|errors| errors.to_string().replace(FILE, ""))
}

/// The warnings about a file, each with its place.
fn warnings(text: &str) -> Vec<String> {
    read(text).unwrap().warnings.into_iter().map(|line| line.replace(FILE, "")).collect()
}

#[test]
fn a_file_is_told_by_how_it_was_found_and_by_its_keys() {
    let theirs = "servers: [{name: a, command: x}]";
    let [variable, own_variable, option] =
        ["PTC_MCP_CONFIG", "ONECALL_CONFIG", "--config"].map(ConfigOrigin::Named);
    let here = ConfigOrigin::WorkingDirectory;
    let rows = [
        (theirs, "/w/config.yaml", here, ConfigFormat::PtcMcp),
        (theirs, "/w/onecall.yaml", here, ConfigFormat::Onecall),
        (theirs, "/w/config.yaml", option, ConfigFormat::Onecall),
        (theirs, "/w/config.yaml", own_variable, ConfigFormat::Onecall),
        (theirs, "/w/config.yaml", ConfigOrigin::User, ConfigFormat::Onecall),
        (theirs, "/w/any.yml", variable, ConfigFormat::PtcMcp),
        ("", "/w/config.yaml", here, ConfigFormat::PtcMcp),
        ("servers:", "/w/config.yaml", here, ConfigFormat::PtcMcp),
        ("servers: []\nlogging: {level: debug}", "/w/config.yaml", here, ConfigFormat::PtcMcp),
        ("execution: {max_tool_calls: 5}", "/w/config.yaml", here, ConfigFormat::PtcMcp),
        // Of another program altogether.
        ("database: {host: x}", "/w/config.yaml", here, ConfigFormat::Onecall),
        // A key that only onecall has, wherever it stands.
        ("servers: []\ncache: {}", "/w/config.yaml", here, ConfigFormat::Onecall),
        ("servers: []\n$schema: x", "/w/config.yaml", here, ConfigFormat::Onecall),
        ("mcpServers: {a: {command: x}}", "/w/any.yml", variable, ConfigFormat::Onecall),
        ("servers: {a: {command: x}}", "/w/any.yml", variable, ConfigFormat::Onecall),
        (
            "servers: [{name: a, command: x, lazy: true}]",
            "/w/any.yml",
            variable,
            ConfigFormat::Onecall,
        ),
        (
            "servers: [{name: a, command: x, pin: true}]",
            "/w/any.yml",
            variable,
            ConfigFormat::Onecall,
        ),
        ("execution: {memory_mb: 64}", "/w/any.yml", variable, ConfigFormat::Onecall),
        ("- a", "/w/any.yml", variable, ConfigFormat::Onecall),
        ("servers: [", "/w/any.yml", variable, ConfigFormat::Onecall),
    ];
    for (text, path, origin, expected) in rows {
        assert_eq!(found(text, path, origin).format(), expected, "{text} at {path} by {origin:?}");
    }
}

#[test]
fn what_is_right_in_both_formats_means_the_same() {
    let rows = [
        "servers: []",
        "servers:\n  - name: figures\n    transport: stdio\n    command: node\n    args: [./dist/index.js]\n  \
         - name: inner-apis\n    transport: sse\n    url: http://localhost:8080/mcp\ntools:\n  block:\n    \
         - mcp__inner_apis__delete_user\nexecution:\n  timeout_seconds: 90\n  max_output_bytes: 4096\n",
        "servers: [{name: a, command: ~/bin/a, env: {K: '${TOKEN}', P: 80}, args: [1, true]}]",
        "servers: [{name: a, url: 'https://h/mcp', headers: {X: '${NONE:-d}'}}]",
        "servers: [{name: a, command: x, disabled: true}]",
        "tools: {allow: [mcp__a__*, mcp__b__read]}",
        "execution: {timeout_seconds: 0.5}",
    ];
    for text in rows {
        let config = Config::parse(text, Path::new(FILE), &environment).unwrap();
        let (warnings, skipped) = (vec![], vec![]);
        let expected = ParsedConfig { config, format: ConfigFormat::PtcMcp, warnings, skipped };
        assert_eq!(read(text), Ok(expected), "{text}");
    }
}

#[test]
fn empty_lists_restrict_nothing_and_blocked_names_may_be_raw() {
    let pattern = |text: &str| ToolPattern::parse(text).unwrap();
    let block = |names: &[&str]| ToolPolicy::Block(names.iter().copied().map(pattern).collect());
    let allow = |names: &[&str]| ToolPolicy::Allow(names.iter().copied().map(pattern).collect());
    let rows = [
        ("tools:", ToolPolicy::AllowAll),
        ("tools: {allow: , block: }", ToolPolicy::AllowAll),
        ("tools: {allow: [], block: []}", ToolPolicy::AllowAll),
        ("tools: {allow: [], block: [mcp__a__x]}", block(&["mcp__a__x"])),
        ("tools: {allow: null, block: [mcp__a__x]}", block(&["mcp__a__x"])),
        ("tools: {allow: [mcp__a__x], block: []}", allow(&["mcp__a__x"])),
        ("tools: {allow: [mcp__a__x], block: ~}", allow(&["mcp__a__x"])),
        (
            "tools: {block: [mcp__in-apis__delete-user.v2]}",
            block(&["mcp__in_apis__delete_user_v2"]),
        ),
        ("tools: {block: [delete-user, ünï]}", block(&["delete_user", "_n_"])),
        ("tools: {block: [' mcp__a__x ']}", block(&["_mcp__a__x_", "mcp__a__x"])),
        ("tools: {allow: [' mcp__a__x ']}", allow(&["_mcp__a__x_"])),
        ("tools: {block: mcp__a__x}", block(&["mcp__a__x"])),
        ("tools: {allow: [mcp__in-apis__get]}", allow(&["mcp__in_apis__get"])),
        // What may be a pattern or a name: more is blocked, and less allowed.
        ("tools: {block: ['mcp__a__*', 'mcp__a__x?']}", block(&["mcp__a__*", "mcp__a__x*"])),
        ("tools: {block: ['mcp__[ab]__x']}", block(&["mcp__*__x"])),
        ("tools: {block: ['mcp__a__x[', 'b]', '[!c]d[e]?']}", block(&["mcp__a__x*", "b*", "*d**"])),
        ("tools: {allow: ['mcp__a__*', 'mcp__b__x?']}", allow(&["mcp__a__*"])),
        ("tools: {allow: ['mcp__b__[xy]']}", allow(&[])),
        ("tools: {allow: [null, '']}", allow(&[])),
        ("tools: {allow: no}", allow(&["no"])),
        ("tools: {blocks: [mcp__a__x]}", ToolPolicy::AllowAll),
        ("tools: {block: [null, '', mcp__a__x]}", block(&["mcp__a__x"])),
    ];
    for (text, expected) in rows {
        assert_eq!(read(text).unwrap().config.tools, expected, "{text}");
    }
    let both = "tools: {allow: [a], block: [b]}";
    let expected =
        ":1:28: tools has both 'allow' (line 1) and 'block' (line 1)\n  help: keep one of them";
    assert_eq!(read(both), Err(expected.to_owned()));
    for text in ["tools: [a]", "tools: {block: {a: 1}}", "tools: no", "tools: {allow: {}}"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_overlooked_is_said() {
    let files = [
        r#"
version: 2
servers:
  - name: a
    command: x
    comand: y
    url: http://localhost/
    env: {SECRET=abc: , B: }
    args: ["${NONE}", "${NONE:-x}", "${TOKEN}"]
  - name: b
    transport: sse
    url: http://localhost/sse
    command: null
    args: []
    env: {A: b}
    enabled: true
tools:
  blocks: [mcp__a__x]
  allow: []
  block:
execution:
  timeout_seconds: 1000000
  max_output_bytes: 1e30
  max_tool_calls: 5
  sandbox: none
"#,
        "tools: {block: ['a?', null]}",
        "tools: {allow: ['a?']}",
    ];
    let shown = files.map(|text| warnings(text).join("\n")).join("\n\n");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_wrong_entry_leaves_out_its_server() {
    let rows = [
        "{command: x}",
        "{name: , command: x}",
        "{name: '', command: x}",
        "{name: 5, command: x}",
        "{name: local, command: x}",
        "{name: good, command: x}",
        "{name: b}",
        "{name: b, transport: stdio, url: 'http://h/'}",
        "{name: b, transport: sse, command: x}",
        "{name: b, transport: websocket, url: 'ws://h/'}",
        "{name: b, transport: [], command: x}",
        "{name: b, command: [x]}",
        "{name: b, command: x, args: -m x}",
        "{name: b, command: x, args: [null]}",
        "{name: b, command: x, env: [A]}",
        "{name: b, command: x, env: {'A=B': c}}",
        "{name: b, url: ftp://h/}",
        "null",
        "text",
        "[]",
    ];
    let mut shown = String::new();
    for entry in rows {
        let good = "{name: good, command: good}";
        let last = "{name: last, command: last}";
        let parsed = read(&format!("servers: [{good}, {entry}, {last}]")).unwrap();
        let names: Vec<_> =
            parsed.config.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["good", "last"], "{entry}");
        assert_eq!(parsed.skipped.len(), 1, "{entry}");
        writeln!(shown, "{entry}").unwrap();
        for warning in parsed.warnings {
            writeln!(shown, "    {}", warning.replace(FILE, "")).unwrap();
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_dollar_stays_where_no_variable_is_meant() {
    let text = r"
servers:
  - name: a
    command: ~/bin/$x
    args: ['pa$$word', '$5', '${', 'a${TOKEN}b', '${NONE}', '$TOKEN', '${A B}']
    env: {PASSWORD: 'x${y$z', TOKEN: '${TOKEN}'}
";
    let config = read(text).unwrap().config;
    let [server] = &config.servers[..] else { panic!("one server: {config:?}") };
    let Transport::Stdio(StdioTransport { command, args, env, .. }) = &server.transport else {
        panic!("not a process: {server:?}");
    };
    let env: Vec<_> = env.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(command, "/home/ada/bin/$x");
    assert_eq!(args, &["pa$$word", "$5", "${", "at0kenb", "${NONE}", "$TOKEN", "${A B}"]);
    assert_eq!(env, [("PASSWORD", "x${y$z"), ("TOKEN", "t0ken")]);
}

#[test]
fn aliases_and_merge_keys_stand_for_what_they_name() {
    let text = "
common: &common
  transport: stdio
  command: node
  env: &env {PORT: &port 8080, HEX: &hex 0x10, ON: &on true, NAME: &name x}
servers:
  - &first
    <<: *common
    name: a
    args: [*port, *hex, *on, *name]
  - {<<: [{command: python}, *first], name: b}
  - {name: c, command: sh, env: *env, args: &args [*port]}
  - {name: d, command: sh, args: *args, <<: {command: never}}
tools: {block: &block [mcp__a__x]}
";
    let written = "
servers:
  - {name: a, transport: stdio, command: node, env: {PORT: 8080, HEX: 0x10, ON: true, NAME: x}, args: [8080, 16, true, x]}
  - {name: b, transport: stdio, command: python, env: {PORT: 8080, HEX: 0x10, ON: true, NAME: x}, args: [8080, 16, true, x]}
  - {name: c, command: sh, env: {PORT: 8080, HEX: 0x10, ON: true, NAME: x}, args: [8080]}
  - {name: d, command: sh, args: [8080]}
tools: {block: [mcp__a__x]}
";
    assert_eq!(read(text).unwrap().config, read(written).unwrap().config);
}

#[test]
fn numbers_are_read_as_yaml_1_1_writes_them_and_held_within_the_limits() {
    let limits = |text: &str| {
        let limits = read(&format!("execution: {{{text}}}")).unwrap().config.execution;
        (limits.timeout.as_secs(), limits.max_output_bytes)
    };
    assert_eq!(limits("timeout_seconds: null, max_output_bytes: "), (120, 65_536));
    assert_eq!(limits("timeout_seconds: 1_000, max_output_bytes: 131_072"), (1_000, 131_072));
    assert_eq!(limits("timeout_seconds: '30'"), (30, 65_536));
    assert_eq!(
        limits("timeout_seconds: .inf, max_output_bytes: 1000000000"),
        (86_400, 104_857_600)
    );
    for text in ["timeout_seconds: 0", "timeout_seconds: 60s", "max_output_bytes: -1"] {
        assert!(read(&format!("execution: {{{text}}}")).is_err(), "{text}");
    }
}

#[test]
fn aliases_cannot_take_all_memory() {
    let mut laughs = String::from("servers: []\na0: &a0 [lol, lol]\n");
    for level in 1..40 {
        let below = level - 1;
        writeln!(laughs, "a{level}: &a{level} [*a{below}, *a{below}, *a{below}]").unwrap();
    }
    let long =
        format!("servers: []\na: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(50_000));
    let keys = format!(
        "servers: []\na: &a {{? [{}] : x}}\nb: [{}]\n",
        "y, ".repeat(50_000),
        "*a, ".repeat(50_000)
    );
    for text in [laughs, long, keys] {
        let found = found(&text, FILE, ConfigOrigin::Named("PTC_MCP_CONFIG"));
        assert_eq!(found.format(), ConfigFormat::Onecall);
        let refused = found.parse(&Environment::new(&environment)).unwrap_err().to_string();
        assert!(refused.contains("uses an alias (*name)"), "{refused}");
    }
}

#[test]
fn a_file_that_is_named_in_the_way_of_onecall_is_read_strictly() {
    let text = "servers: [{name: a, command: x, extra: 1}]";
    let strict = |origin| {
        let parsed = found(text, FILE, origin).parse(&Environment::new(&environment));
        parsed.unwrap_err().to_string().replace(FILE, "")
    };
    let problem = ":1:33: unknown key 'extra' in server 'a'\n  help: valid keys are";
    let advice = "if this is a configuration of ptc-mcp, name it with PTC_MCP_CONFIG in the place of --config";
    let named = strict(ConfigOrigin::Named("--config"));
    assert!(named.starts_with(problem) && named.ends_with(advice), "{named}");
    let users = strict(ConfigOrigin::User);
    assert!(users.starts_with(problem) && !users.contains("ptc-mcp"), "{users}");
    // Wrong in both formats.
    let both = "tools: {allow: [a], block: [b]}";
    let both = found(both, FILE, ConfigOrigin::Named("--config"))
        .parse(&Environment::new(&environment))
        .unwrap_err();
    assert!(!both.to_string().contains("ptc-mcp"), "{both}");
}
