//! Commands that end soon start the servers they need, and no others.

use serde_json::json;

use crate::support::{CommandResult, Home, dedent, finish, fixture, has_system_python};

/// The tools of `a` and `a__b` could have the same names: `mcp__a__b__x` is the tool `b__x` of the
/// first or `x` of the second.
const SERVERS: [&str; 5] = ["so-called", "a", "a__b", "a_b", "büro"];

/// A home with five servers, each of which makes a file when it is started.
fn five_servers() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("started")).unwrap();
    let server =
        |name: &str| fixture(name, &["--log", &home.text_path(&format!("started/{name}"))]);
    home.write("config.json", json!({ "servers": SERVERS.map(server) }).to_string());
    home
}

/// The servers that were started since this was asked last, in the order of the configuration.
fn started(home: &Home) -> Vec<&'static str> {
    let mark = |name: &str| home.path("started").join(name);
    SERVERS.into_iter().filter(|name| std::fs::remove_file(mark(name)).is_ok()).collect()
}

/// Runs a program that must succeed, and returns what it prints.
fn prints(home: &Home, file: &str, code: &str, options: &[&str]) -> String {
    home.write(file, dedent(code));
    let path = home.text_path(file);
    let ended = finish(home.onecall_with_config(&[&["run", &path], options].concat()));
    assert_eq!(ended.code, Some(0), "{code}: {ended:?}");
    ended.stdout
}

fn succeeds(home: &Home, arguments: &[&str]) -> CommandResult {
    let ended = finish(home.onecall_with_config(arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

const NONE: [&str; 0] = [];

/// Programs in Python that print 3, and the servers they start.
const PROGRAMS: [(&str, &[&str]); 10] = [
    ("print(3)", &[]),
    ("print(await mcp__so_called__add(1, 2))", &["so-called"]),
    ("print(await mcp__a_b__add(1, 2))", &["a_b"]),
    ("print(await mcp__büro__add(1, 2))", &["büro"]),
    // Which of the two has `mcp__a__b__add` is not known before both were asked.
    ("print(await mcp__a__b__add(1, 2))", &["a", "a__b"]),
    ("print(await mcp__a__add(1, await mcp__a_b__add(1, 1)))", &["a", "a__b", "a_b"]),
    ("print(tools.mcp__so_called__add(1, 2))", &["so-called"]),
    ("name = 'mcp__so_' + 'called__add'\nprint(await globals()[name](1, 2))", &["so-called"]),
    ("name = 'mcp__so_' + 'called__add'\nprint(getattr(tools, name)(1, 2))", &["so-called"]),
    ("await list_resources('so-called')\nprint(3)", &["so-called"]),
];

#[test]
fn a_program_starts_the_servers_whose_tools_it_names() {
    let home = five_servers();
    for (code, servers) in PROGRAMS {
        assert_eq!(prints(&home, "p.py", code, &[]), "3\n", "{code}");
        assert_eq!(started(&home), servers, "{code}");
    }
}

#[test]
fn so_does_one_on_the_python_of_the_system() {
    if !has_system_python() {
        return;
    }
    let home = five_servers();
    for (code, servers) in PROGRAMS {
        assert_eq!(prints(&home, "p.py", code, &["--engine", "cpython"]), "3\n", "{code}");
        assert_eq!(started(&home), servers, "{code}");
    }
}

#[test]
fn so_does_one_in_typescript() {
    let home = five_servers();
    for (code, servers) in [
        ("console.log(3)", &[] as &[&str]),
        ("console.log(await mcp__so_called__add({ a: 1, b: 2 }))", &["so-called"]),
        (
            "import { add } from './servers/so-called'\nconsole.log(await add({ a: 1, b: 2 }))",
            &["so-called"],
        ),
    ] {
        assert_eq!(prints(&home, "p.ts", code, &[]), "3\n", "{code}");
        assert_eq!(started(&home), servers, "{code}");
    }
}

#[test]
fn what_needs_all_servers_starts_all() {
    let home = five_servers();
    for code in [
        "name = 'ad' + 'd'\ntry:\n    getattr(tools, name)\nexcept Exception as e:\n    print('mcp__a_b__add' in str(e))",
        "print(any(it['name'] == 'mcp__a_b__add' for it in tools.search('add', limit=100)))",
        "print('mcp__a_b__add' in dir(tools))",
        "print(await list_resources() == [])",
        "import os\nprint('a_b' in os.listdir('/tools'))",
    ] {
        assert_eq!(prints(&home, "p.py", code, &[]), "True\n", "{code}");
        assert_eq!(started(&home), SERVERS, "{code}");
    }
    succeeds(&home, &["tools", "--refresh"]);
    assert_eq!(started(&home), SERVERS);
}

#[test]
fn a_name_that_does_not_exist_is_compared_with_the_tools_of_all() {
    let home = five_servers();
    let ended = home.run("await mcp__so_caled__add(1, 2)");
    assert!(ended.stderr.contains("mcp__so_called__add"), "{ended:?}");
    assert_eq!(started(&home), SERVERS);
    // By now, their tools are known.
    let ended = finish(home.onecall_with_config(&["call", "mcp__so_caled__add", "a=1", "b=2"]));
    assert!(ended.stderr.contains("mcp__so_called__add"), "{ended:?}");
    assert_eq!(started(&home), NONE);
}

#[test]
fn a_server_that_is_configured_as_lazy_is_not_compared() {
    let home = Home::new();
    let mut lazy = fixture("later", &["--log", &home.text_path("lazy")]);
    lazy["lazy"] = json!(true);
    let usual = fixture("usual", &["--log", &home.text_path("usual")]);
    home.write("config.json", json!({ "servers": [lazy, usual] }).to_string());
    let ended = home.run("await mcp__usua__add(1, 2)");
    assert!(ended.stderr.contains("mcp__usual__add"), "{ended:?}");
    assert!(home.path("usual").exists());
    assert!(!home.path("lazy").exists());
}

#[test]
fn a_dry_run_and_a_transcript_start_what_the_program_names() {
    let home = five_servers();
    let code = "print(await mcp__so_called__add(1, 2))";
    let preview = prints(&home, "p.py", code, &["--dry-run"]);
    assert!(preview.contains("mcp__so_called__add"), "{preview}");
    assert_eq!(started(&home), ["so-called"]);
    let transcript = prints(&home, "p.py", code, &["--json"]);
    let transcript: serde_json::Value = serde_json::from_str(&transcript).unwrap();
    assert_eq!(transcript["stdout"], "3\n", "{transcript}");
    assert_eq!(started(&home), ["so-called"]);
    prints(&home, "p.py", "print(1)", &["--dry-run"]);
    assert_eq!(started(&home), NONE);
}

#[test]
fn a_call_and_a_look_at_a_tool_start_its_server() {
    let home = five_servers();
    let called = succeeds(&home, &["call", "mcp__so_called__add", "a=1", "b=2"]);
    assert_eq!(called.stdout, "3\n");
    assert_eq!(started(&home), ["so-called"]);
    let called = succeeds(&home, &["call", "mcp__büro__add", "a=1", "b=2"]);
    assert_eq!(called.stdout, "3\n");
    assert_eq!(started(&home), ["büro"]);
    succeeds(&home, &["tools", "show", "mcp__a_b__add"]);
    assert_eq!(started(&home), ["a_b"]);
}

#[test]
fn the_own_name_of_a_tool_is_enough_if_only_one_server_has_it() {
    let home = five_servers();
    let ambiguous = finish(home.onecall_with_config(&["call", "add", "a=1", "b=2"]));
    assert_eq!(ambiguous.code, Some(1), "{ambiguous:?}");
    assert!(ambiguous.stderr.contains("mcp__a_b__add"), "{ambiguous:?}");
    assert_eq!(started(&home), SERVERS);
    let servers = [fixture("only", &[])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    assert_eq!(succeeds(&home, &["call", "add", "a=1", "b=2"]).stdout, "3\n");
    let shown = succeeds(&home, &["tools", "show", "add"]).stdout;
    assert!(shown.contains("mcp__only__add"), "{shown}");
}

#[test]
fn the_tools_of_one_server_start_that_one() {
    let home = five_servers();
    let listed = succeeds(&home, &["tools", "--server", "so_called"]);
    assert_eq!(listed.stdout.lines().count(), 35, "{}", listed.stdout);
    assert!(listed.stdout.lines().all(|row| row.starts_with("mcp__so_called__")));
    assert_eq!(started(&home), ["so-called"]);
    let unknown = finish(home.onecall_with_config(&["tools", "--server", "so-caled"]));
    assert!(unknown.stderr.contains("Did you mean 'so-called'?"), "{unknown:?}");
    assert_eq!(started(&home), NONE);
}

#[test]
fn a_plan_starts_the_servers_of_its_tools() {
    let home = five_servers();
    let nested = json!({ "__tool__": "mcp__a_b__add", "args": { "a": 1, "b": 1 } });
    let plan =
        json!({ "target_tool": "mcp__so_called__add", "tool_args": { "a": 1, "b": nested } });
    home.write("plan.json", plan.to_string());
    let path = home.text_path("plan.json");
    assert_eq!(succeeds(&home, &["proxy", &path]).stdout, "3\n");
    assert_eq!(started(&home), ["so-called", "a_b"]);
    succeeds(&home, &["proxy", "--explain", &path]);
    assert_eq!(started(&home), ["so-called", "a_b"]);
    home.write("plan.json", json!({ "target_tool": "add", "tool_args": {} }).to_string());
    let ambiguous = finish(home.onecall_with_config(&["proxy", &path]));
    assert!(ambiguous.stderr.contains("several tools are named 'add'"), "{ambiguous:?}");
    assert_eq!(started(&home), SERVERS);
}

#[test]
fn generated_files_of_some_servers_start_those() {
    let home = five_servers();
    let generate = |more: &[&str]| {
        succeeds(&home, &[&["generate", "--lang", "python", "--out", "out"], more].concat()).stdout
    };
    assert!(generate(&["--server", "so-called"]).contains("35 tools"));
    assert_eq!(started(&home), ["so-called"]);
    assert!(generate(&["--server", "a_b", "--server", "büro"]).contains("70 tools"));
    assert_eq!(started(&home), ["a_b", "büro"]);
    assert!(generate(&[]).contains("175 tools"));
    assert_eq!(started(&home), SERVERS);
}

#[test]
fn a_name_means_the_same_whatever_was_used_before() {
    let home = Home::new();
    let first = home.write_tools("first.json", &[("b__x", ""), ("y", "")]);
    let second = home.write_tools("second.json", &[("x", "")]);
    let server = |name: &str, tools: &std::path::Path| {
        fixture(name, &["--tools-file", tools.to_str().unwrap()])
    };
    let servers = [server("a", &first), server("a__b", &second)];
    home.write("config.json", json!({ "servers": servers }).to_string());
    let alone = succeeds(&home, &["tools", "--server", "a"]).stdout;
    let all = succeeds(&home, &["tools"]).stdout;
    assert_eq!(all.lines().filter(|row| alone.contains(row)).count(), 2, "{alone}{all}");
    assert!(!alone.contains("mcp__a__b__x "), "{alone}");
}
