//! The command line: exit codes, what goes to which stream, and its words.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use insta::assert_snapshot;
use serde_json::json;
use testkit::rpc::Client;

use crate::support::{CommandResult, Home, finish, fixture};

fn home() -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }))
}

/// The last line of stderr with its time left out.
fn summary(ended: &CommandResult) -> String {
    let last = ended.stderr.lines().last().unwrap_or_default();
    let is_time = |word: &str| {
        word.trim_end_matches(',').strip_suffix('s').is_some_and(|n| n.parse::<f64>().is_ok())
    };
    let words: Vec<&str> =
        last.split(' ').map(|word| if is_time(word) { "[time]" } else { word }).collect();
    words.join(" ")
}

#[test]
fn a_program_that_succeeds() {
    let ended =
        home().run("import sys\nprint(await mcp__fixture__add(1, 2))\nprint('e', file=sys.stderr)");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"));
    assert_eq!(ended.stderr.lines().next(), Some("e"));
    assert_eq!(summary(&ended), "onecall: done in [time] 1 tool call");
}

#[test]
fn a_program_that_fails() {
    let ended = home().run("print('before')\nawait mcp__fixture__add(1, 2)\n1 / 0");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "before\n"));
    let (said, _) = ended.stderr.trim_end().rsplit_once('\n').unwrap();
    assert_snapshot!(said, @r#"
    Traceback (most recent call last):
      File "program.py", line 3, in <module>
        1 / 0
        ~~^~~
    ZeroDivisionError: division by zero
    "#);
    assert_eq!(summary(&ended), "onecall: failed after [time] 1 tool call completed");
}

#[test]
fn a_program_that_runs_out_of_time() {
    let home = Home::with_config(&json!({ "execution": { "timeout_seconds": 0.5 } }));
    let ended = home.run("while True: pass");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(124), ""));
    assert_eq!(ended.stderr.lines().next(), Some("TimeoutError: Execution exceeded 0.5s limit"));
}

#[test]
fn a_program_that_cannot_be_read() {
    let home = home();
    home.write("latin.py", b"print('\xe9')");
    let run = |file: &str| {
        let ended = finish(home.onecall_with_config(&["run", &home.text_path(file)]));
        let said = ended.stderr.replace(&home.text_path(""), "[home]/");
        (ended.code, ended.stdout, said)
    };
    let refused = |said: &str| (Some(2), String::new(), format!("error: {said}\n"));
    assert_eq!(
        run("none.py"),
        refused("cannot read the program '[home]/none.py': No such file or directory (os error 2)")
    );
    assert_eq!(
        run("latin.py"),
        refused("the program in '[home]/latin.py' is not UTF-8 text (byte 7 is not valid)")
    );
}

#[test]
fn a_program_from_standard_input() {
    let home = home();
    let mut command = home.onecall_with_config(&["run", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"print(await mcp__fixture__add(1, 2))").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"3\n".as_slice()));
}

#[test]
fn output_is_shown_while_the_program_runs() {
    for waiting in ["await mcp__fixture__hang()", "while True: pass"] {
        let home = home();
        home.write("program.py", format!("print('first')\n{waiting}"));
        let mut run =
            Client::spawn(home.onecall_with_config(&["run", &home.text_path("program.py")]));
        assert_eq!(run.receive_line().as_deref(), Some("first"), "{waiting}");
        assert!(run.wait(Duration::ZERO).is_none(), "{waiting}: it is still running");
    }
}

#[test]
fn a_broken_configuration_is_explained() {
    let home = Home::new();
    let config = "servers:\n  - name: a\n    comand: x\nexecution:\n  timeout: 5\n";
    home.write("bad.yaml", config);
    home.write("program.py", "print('never')");
    let program = home.text_path("program.py");
    let mut said = Vec::new();
    for command in [&["check"][..], &["tools"], &["run", &program], &["serve"]] {
        let mut command = home.onecall(command);
        command.arg("--config").arg(home.path("bad.yaml"));
        let ended = finish(command);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        said.push(ended.stderr.replace(&home.text_path(""), "[home]/"));
    }
    said.dedup();
    assert_snapshot!(said.join("\n--\n"), @"
    error: [home]/bad.yaml:2:5: server 'a' has neither a 'command' nor a 'url'
    [home]/bad.yaml:3:5: unknown key 'comand' in server 'a'
      help: did you mean 'command'?
    [home]/bad.yaml:5:3: unknown key 'timeout' in execution
      help: did you mean 'timeout_seconds'?
    ");
}

#[test]
fn tools_are_listed_searched_and_shown() {
    let home = home();
    let listed = finish(home.onecall_with_config(&["tools"]));
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    let names: Vec<&str> =
        listed.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        (names.len(), names[0], names[34]),
        (35, "mcp__fixture__add", "mcp__fixture__wrapped_list")
    );
    assert_eq!(
        listed.stdout.lines().next(),
        Some("mcp__fixture__add              Adds two numbers.")
    );

    let found = finish(home.onecall_with_config(&["tools", "weather", "in", "a", "city"]));
    assert_eq!(found.code, Some(0));
    assert!(found.stdout.starts_with("mcp__fixture__weather "), "{}", found.stdout);
    let none = finish(home.onecall_with_config(&["tools", "zzzqqq"]));
    assert_eq!(
        none,
        CommandResult { code: Some(1), stdout: String::new(), stderr: "No tool matches\n".into() }
    );

    let shown = finish(home.onecall_with_config(&["tools", "show", "mcp__fixture__nothing"]));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(shown.stdout, @r#"
    {
      "name": "mcp__fixture__nothing",
      "description": "Answers without any content.",
      "signature": "await mcp__fixture__nothing() -> Any  # not declared; JSON text arrives parsed: print a small result first",
      "typescript": "await mcp__fixture__nothing(): Promise<unknown>  // not declared; JSON text arrives parsed: print a small result first",
      "inputSchema": {
        "type": "object",
        "properties": {}
      },
      "outputSchema": null,
      "note": "The server declares no output schema: print a small result first to see its shape. Images and resources beside text are in its .content."
    }
    "#);
    let unknown = finish(home.onecall_with_config(&["tools", "show", "mcp__fixture__ad"]));
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""));
    assert_snapshot!(unknown.stderr, @"
    error: there is no tool 'mcp__fixture__ad'. Did you mean: 'mcp__fixture__add'?
    ");
}

#[test]
fn check_shows_every_server() {
    let home = home();
    let ended = finish(home.onecall_with_config(&["check", "--log", "off"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    let servers = json!([
        fixture("fixture", &[]),
        { "name": "broken", "command": "/no/such/command" },
        fixture("quitter", &["--exit-on-start", "3"]),
    ]);
    home.write("config.json", json!({ "servers": servers }).to_string());
    let ended = finish(home.onecall_with_config(&["check", "--log", "off"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let table = ended.stdout.replace(&home.text_path(""), "[home]/");
    let (before, rest) = table.split_once("ready in ").unwrap();
    let (_, after) = rest.split_once(" ms").unwrap();
    assert_snapshot!(format!("{before}ready in [time] ms{after}"), @"
    The configuration [home]/config.json is valid
    SERVER   TRANSPORT  TOOLS  STATE
    fixture  stdio         35  ready in [time] ms: fixture 1.0.0, protocol 2025-11-25
    broken   stdio          -  failed: command '/no/such/command' was not found; check that it is installed and on PATH, or give its full path
    quitter  stdio          -  failed: has exited (exit status: 3) during the handshake
    ");
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let home = Home::new();
    let help = |command: &[&str]| {
        let ended = finish(home.onecall(&[command, &["--help"]].concat()));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{command:?}");
        ended.stdout
    };
    let subcommands = |text: &str| -> Vec<String> {
        let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1);
        let rows = listed.take_while(|line| line.starts_with("  "));
        // A row that is indented further continues the one before.
        let names = rows.filter_map(|row| row.strip_prefix("  ")?.split(' ').next());
        names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
    };
    let commands = subcommands(&help(&[]));
    assert_eq!(
        commands,
        [
            "init",
            "import",
            "install",
            "uninstall",
            "add",
            "remove",
            "enable",
            "disable",
            "list",
            "config",
            "serve",
            "run",
            "call",
            "repl",
            "exec",
            "proxy",
            "runs",
            "audit",
            "approvals",
            "ui",
            "resume",
            "cancel",
            "logs",
            "stats",
            "doctor",
            "tools",
            "generate",
            "check",
            "cache",
            "pin",
            "policy",
            "trust",
            "secrets",
            "users",
            "login",
            "logout",
            "demo",
            "schema",
            "completions",
            "man",
            "licences"
        ]
    );
    let mut paths: Vec<Vec<String>> = Vec::new();
    for command in commands {
        let below = subcommands(&help(&[&command]));
        paths.extend(below.into_iter().map(|name| vec![command.clone(), name]));
        paths.push(vec![command]);
    }
    for path in paths {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let text = help(&words);
        let example = format!("onecall {}", words.join(" "));
        let examples = text.split_once("Example").map(|(_, examples)| examples);
        assert!(examples.is_some_and(|examples| examples.contains(&example)), "{text}");
    }
}

#[test]
fn the_licences_of_what_is_in_the_binary_are_printed() {
    let ended = finish(Home::new().onecall(&["licences"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let parts = [
        "GNU LESSER GENERAL PUBLIC LICENSE",
        "GNU GENERAL PUBLIC LICENSE",
        "PYTHON SOFTWARE FOUNDATION LICENSE",
        "SQLite (in libsqlite3-sys)",
        // QuickJS and mimalloc, whose sources are inside of packages.
        "Fabrice Bellard",
        "Microsoft Corporation",
    ];
    for part in parts {
        assert!(ended.stdout.contains(part), "no {part}");
    }
}

/// A pipe can be read only once.
#[test]
fn the_configuration_is_read_once() {
    let home = Home::new();
    let pipe = home.path("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let config = json!({ "servers": [fixture("fixture", &[])], "telemetry": {} }).to_string();
    let writer = thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, config)
    });
    let program = "print(await mcp__fixture__add(a=1, b=2))";
    let pipe = pipe.display().to_string();
    let ended = finish(home.onecall(&["run", "--config", &pipe, "-e", program]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
    writer.join().unwrap().unwrap();
}

#[test]
fn the_demo_shows_what_it_saves() {
    let ended = finish(Home::new().onecall(&["demo"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("    [Script executed successfully]\n"), "{}", ended.stdout);
    let row = |name: &str| -> Vec<f64> {
        let line = ended.stdout.lines().find_map(|line| line.strip_prefix(name));
        let numbers = line.unwrap_or_else(|| panic!("no {name} in {}", ended.stdout));
        let words = numbers.split_ascii_whitespace().map(|word| word.trim_end_matches('%'));
        words.map(|word| word.parse().expect("a number")).collect()
    };
    for name in ["tool calls ", "bytes ", "tokens (o200k) "] {
        let numbers = row(name);
        let [direct, ours, saved] = *numbers else { panic!("{numbers:?}") };
        assert!(ours < direct, "{name}: {numbers:?}");
        assert!((saved - 100.0 * (1.0 - ours / direct)).abs() < 0.06, "{name}: {numbers:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let home = home();
    home.write("program.py", "print('lost')");
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        said.lines().last(),
        Some(
            "onecall: not all of the output could be written: \
             No space left on device (os error 28)"
        )
    );
}
