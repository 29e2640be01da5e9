//! What commands have in common: which configuration they read, how output and arguments are
//! given, and hints that can be pasted.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Home, finish, fixture};

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::with_config(&json!({ "servers": [fixture("s", &[])] }));
    // More than a pipe holds, so that the rest cannot be written.
    for arguments in [&["licences"][..], &["tools", "--json", "--detail", "full"]] {
        let mut command = home.onecall_with_config(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn arguments_come_as_an_object_from_a_file_or_from_standard_input() {
    let home = Home::with_config(&json!({ "servers": [fixture("s", &[])] }));
    let file = home.write("arguments.json", r#"{"value": "from a file"}"#);
    let file = format!("@{}", file.display());
    let called = |arguments: &[&str]| {
        let mut command =
            home.onecall_with_config(&[&["call", "mcp__s__echo"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may have ended without reading.
        _ = child.stdin.take().unwrap().write_all(br#"{"value": "from stdin"}"#);
        let output = child.wait_with_output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert_eq!(called(&["--args", r#"{"value": "given"}"#]), "given\n");
    assert_eq!(called(&["--args", &file]), "from a file\n");
    assert_eq!(called(&["--args", "-"]), "from stdin\n");
    assert_eq!(called(&["--args", "-", "--json"]), "\"from stdin\"\n");
    assert_eq!(called(&["value=a b", "--json"]), "\"a b\"\n");
    let hint = "error: to pass all arguments as one JSON object, write it after --args\n";
    assert_eq!(called(&["--json", r#"{"value": 1}"#]), hint);
    assert_eq!(called(&["--json", "-"]), hint);
}

#[test]
fn an_unusual_configuration_is_named_and_a_missing_one_is_made_by_init() {
    let home = Home::new();
    let missing = "There is no configuration yet: run `onecall init`";
    for arguments in [&["tools"][..], &["repl"], &["list"]] {
        let ended = finish(home.onecall(arguments));
        assert_eq!(ended.stderr.lines().next(), Some(missing), "{arguments:?}");
        assert!(!ended.stderr.contains("no tools"), "{}", ended.stderr);
    }
    let generate = ["generate", "--lang", "python", "--out", "out"];
    for arguments in [&["call", "x"][..], &["tools", "show", "x"], &generate, &["login", "x"]] {
        let ended = finish(home.onecall(arguments));
        let said = "error: there is no configuration yet: run `onecall init`\n";
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), said), "{arguments:?}");
    }
    let config = json!({ "servers": [fixture("s", &[])] }).to_string();
    let local = home.write("work/onecall.yaml", &config);
    assert_eq!(finish(home.onecall(&["trust"])).code, Some(0));
    home.write("work/hello.py", "pass");
    let using = format!("Using {}, trusted in the working directory", local.display());
    for arguments in [
        &["tools"][..],
        &["run", "hello.py"],
        &["list"],
        &["runs"],
        &["config", "get", "servers"],
        &["exec"],
        &["serve"],
    ] {
        let ended = finish(home.onecall(arguments));
        assert_eq!(ended.stderr.lines().next(), Some(using.as_str()), "{arguments:?}");
    }
    let mut named = home.onecall(&["list"]);
    named.env("ONECALL_CONFIG", &local);
    let using = format!("Using {}, named by ONECALL_CONFIG\n", local.display());
    assert_eq!(finish(named).stderr, using);

    // The user's own is the usual one.
    std::fs::remove_file(&local).unwrap();
    home.write("home/config/onecall/config.yaml", &config);
    assert_eq!(finish(home.onecall(&["list"])).stderr, "");
}

#[test]
fn a_command_that_cannot_be_a_program_is_explained() {
    let home = Home::with_config(&json!({ "servers": [
        { "name": "line", "command": "npx -y some-server" },
        { "name": "folder", "command": "/" },
    ] }));
    let ended = finish(home.onecall_with_config(&["check"]));
    let failures: Vec<&str> =
        ended.stdout.lines().filter_map(|line| Some(line.split_once("failed: ")?.1)).collect();
    let rest = "'command' is the program alone: write 'command: npx' and move the rest to 'args'";
    assert_eq!(
        failures,
        [
            format!("command 'npx -y some-server' was not found; {rest}").as_str(),
            "command '/' is a folder; give the path of a program in it",
        ]
    );
    let report: Value =
        serde_json::from_str(&finish(home.onecall_with_config(&["doctor", "--json"])).stdout)
            .unwrap();
    let fixes: Vec<_> =
        report["servers"].as_array().unwrap().iter().map(|it| it["fix"].as_str()).collect();
    assert_eq!(fixes, [Some(rest), Some("give the path of a program in it")]);
}

#[test]
fn hints_can_be_pasted() {
    let home = Home::new();
    let kept = finish(home.onecall(&["add", "my server", "a b"])).stderr;
    assert!(kept.ends_with("run `onecall remove 'my server'`\n"), "{kept}");
    let kept = finish(home.onecall(&["add", "it's", "--", "/missing/program"])).stderr;
    assert!(kept.ends_with("run `onecall remove 'it'\\''s'`\n"), "{kept}");
}

#[test]
fn servers_are_written_under_the_names_that_were_shown() {
    let home = Home::new();
    let entry = |flags: &[&str]| {
        let server = fixture("", flags);
        json!({ "mcpServers": { "same": { "command": server["command"], "args": server["args"] } } })
    };
    home.write("home/.cursor/mcp.json", entry(&["--tools", "1"]).to_string());
    home.write("home/.gemini/settings.json", entry(&["--tools", "2"]).to_string());
    let ended = finish(home.onecall(&["init", "--yes", "--no-check"]));
    let shown: Vec<&str> =
        ended.stdout.lines().skip(1).map(|row| row.split(' ').next().unwrap()).collect();
    let listed = finish(home.onecall(&["list", "--json"])).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let written: Vec<&str> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!((shown.len(), shown), (2, written), "{ended:?}");
}
