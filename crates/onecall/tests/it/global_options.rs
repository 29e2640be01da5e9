//! Options that every command takes, and forms of output that several commands share.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{CommandResult, Home, finish, fixture};

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall(arguments))
}

#[test]
fn a_quiet_command_prints_results_and_errors_alone() {
    let home = Home::new();
    let quiet = |arguments: &[&str], code: i32| {
        let ended = onecall(&home, &[arguments, &["--quiet"]].concat());
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        (ended.stdout, ended.stderr)
    };
    let nothing = (String::new(), String::new());
    assert_eq!(quiet(&["run", "-e", "print(1)"], 0), ("1\n".to_owned(), String::new()));
    let failure = "Traceback (most recent call last):\n  File \"<program>\", line 1, in <module>\n    \
                   raise ValueError('no')\nValueError: no\n";
    assert_eq!(quiet(&["run", "-e", "raise ValueError('no')"], 1).1, failure);
    assert_eq!(quiet(&["add", "--no-check", "a", "https://a.example/mcp"], 0), nothing);
    assert_eq!(quiet(&["disable", "a"], 0), nothing);
    assert_eq!(quiet(&["config", "set", "engine", "auto"], 0), nothing);
    assert!(quiet(&["remove", "b"], 2).1.starts_with("error: there is no server 'b'"));
    assert_eq!(quiet(&["remove", "a"], 0), nothing);
    for (arguments, code) in [
        (&["init", "--yes"][..], 0),
        (&["list"], 0),
        (&["tools"], 1),
        (&["runs"], 0),
        (&["stats"], 0),
        (&["secrets", "set", "TOKEN"], 2),
        (&["secrets", "list"], 0),
        (&["cache", "clear"], 0),
        (&["install", "--yes", "cursor"], 0),
        (&["install", "--yes", "cursor"], 0),
        (&["uninstall", "--yes", "cursor"], 0),
        (&["uninstall", "--yes", "cursor"], 0),
    ] {
        let stderr = quiet(arguments, code).1;
        let is_error = |line: &str| line.starts_with("error: ");
        assert!(
            stderr.lines().all(is_error) && (code != 0 || stderr.is_empty()),
            "{arguments:?}: {stderr}"
        );
    }
    // Warnings are notes, too.
    home.write("work/onecall.yaml", "servers: []\n");
    let run = ["run", "-e", "print(1)"];
    assert!(onecall(&home, &run).stderr.contains("it is not trusted"));
    assert_eq!(quiet(&run, 0), ("1\n".to_owned(), String::new()));
}

#[test]
fn colours_are_a_choice() {
    let home = Home::new();
    let is_coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.onecall(&[&["doctor"], arguments].concat());
        command.envs(variables.iter().copied());
        finish(command).stdout.contains('\u{1b}')
    };
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&["--color", "always"], &[]));
    assert!(is_coloured(&["--color", "always"], &[("NO_COLOR", "1")]));
    // This variable stands in for a terminal.
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["--color=never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn help_and_wrong_command_lines_have_the_chosen_colours() {
    let home = Home::new();
    let is_coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.onecall(arguments);
        command.envs(variables.iter().copied());
        let ended = finish(command);
        assert_ne!(ended.stdout.len() + ended.stderr.len(), 0);
        (ended.stdout + &ended.stderr).contains('\u{1b}')
    };
    let forced = [("CLICOLOR_FORCE", "1")];
    for wrong in
        [&["--help"][..], &["tools", "--help"], &["tolls"], &["call"], &["run", "--x", "f"]]
    {
        let with = |color: &[&'static str]| [color, wrong].concat();
        assert!(!is_coloured(wrong, &[]), "{wrong:?}");
        assert!(is_coloured(wrong, &forced), "{wrong:?}");
        assert!(is_coloured(&with(&["--color", "always"]), &[]), "{wrong:?}");
        assert!(is_coloured(&with(&["--color=always"]), &[("NO_COLOR", "1")]), "{wrong:?}");
        assert!(!is_coloured(&with(&["--color", "never"]), &forced), "{wrong:?}");
    }
    assert!(!is_coloured(&["--color", "sometimes", "list"], &[]));
}

#[test]
fn check_mentions_the_former_name_of_a_key() {
    let home = Home::new();
    home.write("config.json", "{\n  \"expose\": [\"programmatic_tool_calling\"]\n}");
    let ended = finish(home.onecall_with_config(&["check"]));
    let note = "'expose' on line 2 is now called 'optional_tools'; the former name still works";
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.ends_with(&format!("note: {note}\n")), "{ended:?}");
    let ended = finish(home.onecall_with_config(&["check", "--json"]));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["notes"], json!([note]));
}

#[test]
fn check_reports_in_json() {
    let home = Home::with_config(&json!({
        "servers": [
            fixture("fixture", &[]),
            { "name": "broken", "command": "/no/such/command" },
            { "name": "unset", "command": "x", "env": { "A": "${NOT_SET}" } },
        ],
        "tools": { "block": ["mcp__fixture__none"] },
    }));
    let ended = finish(home.onecall_with_config(&["check", "--json", "--log", "off"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let text = ended.stdout.replace(&home.text_path(""), "[home]/");
    let mut report: Value = serde_json::from_str(&text).unwrap();
    assert!(report["servers"][0]["took_ms"].take().is_u64());
    assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());

    home.write("config.json", json!({ "servers": [fixture("fixture", &[])] }).to_string());
    let ended = finish(home.onecall_with_config(&["check", "--json"]));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &report["ok"]), (Some(0), &json!(true)));
    let none: Value = serde_json::from_str(&onecall(&home, &["check", "--json"]).stdout).unwrap();
    let expected = json!({
        "ok": true, "configuration": null, "format": null, "servers": [],
        "skipped": [], "notes": [], "warnings": [],
    });
    assert_eq!(none, expected);
}

#[test]
fn yes_has_a_short_form() {
    let home = Home::new();
    for command in ["init", "import", "install", "uninstall", "pin"] {
        let help = onecall(&home, &[command, "--help"]).stdout;
        assert!(help.contains("  -y, --yes"), "{help}");
    }
}

#[test]
fn help_lists_the_options_of_the_command_first() {
    let home = Home::new();
    assert_snapshot!(onecall(&home, &["run", "--help"]).stdout);
}
