//! What is kept in log files, and how `onecall logs` shows it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::wait_until;

use crate::support::http_gateway::HttpGateway;
use crate::support::{CommandResult, Gateway, Home, TIMEOUT, finish, fixture, script};

const LOGS: &str = "home/state/onecall/logs";

/// More than a log file may have.
const FULL: usize = 1024 * 1024;

fn logs(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall_with_config(&[&["logs"], arguments].concat()))
}

/// All entries of a server, or of everything if the name is empty.
fn entries(home: &Home, server: &str) -> Vec<Value> {
    let name = (!server.is_empty()).then_some(server);
    let arguments: Vec<&str> = ["--json", "-n", "100000"].into_iter().chain(name).collect();
    let ended = logs(home, &arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Each entry as its source, level and message, with `N` for numbers that differ from run to run.
fn entry_lines(entries: &[Value]) -> Vec<String> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let line = |entry: &Value| {
        let message = text(entry, "message");
        let message = match message.split_once(" took=") {
            Some((before, _)) => before.to_owned(),
            None => without_number(&without_number(&message, "process "), "starts it again in "),
        };
        format!("{} {}: {message}", text(entry, "source"), text(entry, "level"))
    };
    entries.iter().map(line).collect()
}

fn without_number(text: &str, before: &str) -> String {
    let Some((start, rest)) = text.split_once(before) else { return text.to_owned() };
    format!("{start}{before}N{}", rest.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

fn wait_for(home: &Home, server: &str, words: &str) {
    let has =
        || entries(home, server).iter().any(|it| it["message"].as_str().unwrap().contains(words));
    assert!(wait_until(TIMEOUT, has), "{words}: {:#?}", entries(home, server));
}

/// What an entry of an earlier gateway looks like.
fn line(message: &str) -> String {
    let entry = json!({
        "time": "2026-01-02T03:04:05.678Z", "pid": 7, "server": "fixture", "source": "stderr",
        "level": "info", "message": message,
    });
    format!("{entry}\n")
}

/// Entries that fill a file up to a few bytes.
fn filler() -> String {
    filling_line().repeat(FULL / filling_line().len())
}

fn filling_line() -> String {
    line("xxxxxxxxxx")
}

/// A command whose output is read line by line while it runs.
struct LiveOutput {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl LiveOutput {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    /// The lines up to the one that has these words.
    fn until(&mut self, words: &str) -> Vec<String> {
        let mut lines = vec![self.line()];
        while !lines.last().is_some_and(|line| line.contains(words)) {
            lines.push(self.line());
            assert!(lines.last().is_some_and(|line| !line.is_empty()), "{words}: {lines:#?}");
        }
        lines
    }
}

impl Drop for LiveOutput {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn the_life_of_a_server_that_dies_and_comes_back_can_be_read() {
    let config = json!({ "servers": [fixture("fixture", &["--stderr", "cannot open the index"])] });
    let mut gateway = Gateway::with_config(&config);
    gateway.fails("await mcp__fixture__crash(exit_code=3)");
    assert!(wait_until(TIMEOUT, || {
        entry_lines(&entries(&gateway.home, "fixture"))
            .iter()
            .filter(|it| it.contains("connected"))
            .count()
            == 2
    }));
    let pid = gateway.pid();
    gateway.session.client().close_stdin();
    assert!(gateway.session.client().wait(TIMEOUT).is_some());
    let entries = entries(&gateway.home, "fixture");
    assert!(entries.iter().all(|entry| entry["pid"] == pid && entry["server"] == "fixture"));
    let times: Vec<&str> = entries.iter().map(|entry| entry["time"].as_str().unwrap()).collect();
    assert!(times.iter().all(|time| time.len() == 24 && time.ends_with('Z')), "{times:?}");
    assert!(times.is_sorted(), "{times:?}");
    // The stderr is another stream: its line may come before or after what else happens.
    let mut lines = entry_lines(&entries);
    let stderr = lines.extract_if(.., |line| line.starts_with("stderr")).count();
    assert_eq!(stderr, 2, "{lines:#?}");
    assert_snapshot!(lines.join("\n"), @"
    gateway info: started as process N
    gateway info: connected to fixture 1.0.0 tools=35
    gateway warn: not available: has exited (exit status: 3); onecall starts it again in N s
    gateway info: started as process N
    gateway info: connected to fixture 1.0.0 tools=35
    gateway info: was stopped
    ");
}

#[test]
fn lines_for_people_name_the_server_the_process_and_the_source() {
    let home = Home::new();
    home.write(&format!("{LOGS}/servers/fixture.log"), line("one") + &line("two"));
    let warning = json!({
        "time": "2026-01-02T03:04:05.677Z", "pid": 8, "source": "gateway", "level": "error",
        "message": "line 3: no such key\nthe previous configuration stays in use",
    });
    let message = json!({
        "time": "2026-01-02T03:04:05.679Z", "pid": 8, "server": "a/b", "source": "log",
        "level": "warning", "message": "disk: nearly full",
    });
    home.write(&format!("{LOGS}/gateway.log"), format!("{warning}\n"));
    home.write(&format!("{LOGS}/servers/a%2fb.log"), format!("{message}\n"));
    let all = logs(&home, &[]);
    assert_snapshot!(all.stdout, @"
    2026-01-02T03:04:05.677Z gateway[8] error: line 3: no such key
        the previous configuration stays in use
    2026-01-02T03:04:05.678Z fixture[7] stderr: one
    2026-01-02T03:04:05.678Z fixture[7] stderr: two
    2026-01-02T03:04:05.679Z a/b[8] log warning: disk: nearly full
    ");
    let last = |arguments: &[&str]| logs(&home, arguments).stdout.lines().count();
    assert_eq!(last(&["fixture", "-n", "1"]), 1);
    assert_eq!(last(&["a/b"]), 1);
    assert_eq!(last(&["--gateway"]), 2);
    assert_eq!(last(&["-n", "0"]), 0);
    assert!(
        logs(&home, &["-n", "1", "--color", "always"]).stdout.contains("\u{1b}[33mlog warning")
    );
    let path = logs(&home, &["a/b", "--path"]).stdout;
    assert_eq!(path.trim_end(), home.text_path(&format!("{LOGS}/servers/a%2fb.log")));
    assert_eq!(logs(&home, &["--path"]).stdout.trim_end(), home.text_path(LOGS));
}

#[test]
fn log_messages_of_the_protocol_are_kept() {
    let message = |data: Value| {
        let params = json!({ "level": "warning", "logger": "index", "data": data });
        json!({ "say": { "jsonrpc": "2.0", "method": "notifications/message", "params": params } })
    };
    let steps = json!([
        message(json!("stale")),
        message(json!({ "rows": 3 })),
        { "say": { "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": 3 } } },
        { "answer": { "content": [] } },
    ]);
    let tools = json!([{ "name": "ask", "inputSchema": { "type": "object" } }]);
    let server = script("scripted", &json!({ "tools": tools, "on": { "tools/call": steps } }));
    let home = Home::with_config(&json!({ "servers": [server] }));
    let ended = finish(home.onecall_with_config(&["call", "mcp__scripted__ask"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut lines = entry_lines(&entries(&home, "scripted"));
    lines.retain(|line| line.starts_with("log"));
    assert_eq!(lines, ["log warning: index: stale", r#"log warning: index: {"rows":3}"#]);
}

#[test]
fn commands_that_end_soon_write_logs_too_and_point_to_them() {
    let broken = fixture("broken", &["--stderr", "no API key", "--exit-on-start", "7"]);
    let config = json!({ "servers": [broken, fixture("fixture", &["--stderr", "hello"])] });
    let home = Home::with_config(&config);
    let ended = home.run("print(await mcp__fixture__add(a=1, b=2))\nawait mcp__broken__x()");
    assert!(!ended.stderr.contains("started again"), "{}", ended.stderr);
    assert!(entry_lines(&entries(&home, "fixture")).contains(&"stderr info: hello".to_owned()));
    let ended = finish(home.onecall_with_config(&["tools"]));
    let hint = "its stderr ends with: no API key; `onecall logs broken` shows all of it";
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
    let ended = finish(home.onecall_with_config(&["check"]));
    assert!(ended.stdout.contains(hint), "{}", ended.stdout);
    let ended = finish(home.onecall_with_config(&["doctor"]));
    let hint = "`onecall logs broken` shows earlier events of the server";
    assert!(ended.stdout.contains(hint), "{}", ended.stdout);
    let lines = entry_lines(&entries(&home, "broken"));
    let failure = "gateway warn: not available: has exited (exit status: 7) during the handshake";
    assert!(lines.contains(&failure.to_owned()), "{lines:#?}");
    assert!(lines.contains(&"stderr info: no API key".to_owned()), "{lines:#?}");
}

#[test]
fn what_the_gateway_warns_of_is_in_its_own_log() {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let mut gateway = Gateway::in_home(home);
    gateway.prints("print(await mcp__fixture__add(a=1, b=2))");
    gateway.home.write("config.json", "{ \"server\": [] ");
    wait_for(&gateway.home, "", "the previous configuration stays in use");
    let ended = logs(&gateway.home, &["--gateway"]);
    assert!(ended.stdout.contains("] error: "), "{}", ended.stdout);
    assert!(!ended.stdout.contains("fixture["), "{}", ended.stdout);
}

#[test]
fn a_gateway_over_http_writes_logs() {
    let http_gateway = HttpGateway::new();
    http_gateway.client().run(1, "print(await mcp__fixture__add(a=1, b=2))");
    wait_for(&http_gateway.home, "fixture", "connected to");
    assert!(
        entries(&http_gateway.home, "fixture")
            .iter()
            .all(|entry| entry["pid"] == http_gateway.pid())
    );
}

#[test]
fn gateways_that_write_at_once_leave_whole_lines() {
    const LINES: usize = 300;
    let shell = format!(
        "i=0; while [ $i -lt {LINES} ]; do echo \"line $i of $$ {}\" >&2; i=$((i+1)); done; exec \"$0\"",
        "y".repeat(500)
    );
    let arguments = ["-c", &shell, &bins::fixture_server().display().to_string()];
    let server = json!({ "name": "fixture", "command": "sh", "args": arguments });
    let home = Home::with_config(&json!({ "servers": [server] }));
    let mut sessions: Vec<Session> =
        (0..2).map(|_| Session::open(home.onecall_with_config(&["serve"]))).collect();
    for session in &mut sessions {
        let code = json!({ "code": "print(await mcp__fixture__add(a=1, b=2))" });
        assert!(!session.call_tool("execute_program", code).is_error);
    }
    let pids: Vec<u32> = sessions.iter_mut().map(|session| session.client().pid()).collect();
    let lines_of = |pid: u32| {
        let is_its = |entry: &Value| entry["pid"] == pid && entry["source"] == "stderr";
        entries(&home, "fixture").into_iter().filter(is_its).count()
    };
    for pid in pids {
        assert!(wait_until(TIMEOUT, || lines_of(pid) == LINES), "{}", lines_of(pid));
    }
    let text = fs::read_to_string(home.path(&format!("{LOGS}/servers/fixture.log"))).unwrap();
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn a_full_file_is_rotated_and_followed() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &["--stderr", "first"])] }));
    let file = home.write(&format!("{LOGS}/servers/fixture.log"), filler());
    let older = home.path(&format!("{LOGS}/servers/fixture.log.1"));
    let mut output =
        LiveOutput::start(home.onecall_with_config(&["logs", "fixture", "-f", "-n", "1"]));
    assert!(output.line().contains("xxx"));
    let program = "print(await mcp__fixture__add(a=1, b=2))";
    for _ in 0..2 {
        assert_eq!(home.run(program).stdout, "3\n");
        let shown = output.until("was stopped");
        let of = |words: &str| shown.iter().filter(|line| line.contains(words)).count();
        let counts = ["started as process", "stderr: first", "connected to"].map(of);
        assert_eq!(counts, [1, 1, 1], "{shown:#?}");
        let size = |path| fs::metadata(path).unwrap().len();
        assert!(size(&older) > 900_000 && size(&older) <= FULL as u64 && size(&file) < 10_000);
        let mut full = fs::OpenOptions::new().append(true).open(&file).unwrap();
        let room = FULL - usize::try_from(size(&file)).unwrap();
        full.write_all(filling_line().repeat(room / filling_line().len()).as_bytes()).unwrap();
    }
    assert_eq!(fs::read_dir(home.path(&format!("{LOGS}/servers"))).unwrap().count(), 2);
}

#[test]
fn the_servers_that_come_later_are_followed_too() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &["--stderr", "late"])] }));
    let mut output = LiveOutput::start(home.onecall_with_config(&["logs", "--follow", "--json"]));
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    let shown = output.until("was stopped");
    assert!(shown.iter().any(|line| line.contains(r#""message":"late""#)), "{shown:#?}");
}

#[test]
fn following_ends_with_its_reader() {
    let home = Home::new();
    home.write(&format!("{LOGS}/gateway.log"), line("one"));
    let mut command = home.onecall_with_config(&["logs", "-f"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("one"));
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}

#[test]
fn secrets_are_taken_out_before_they_are_written() {
    const SECRET: &str = "sesame-4711-open";
    let long = format!("{}{SECRET}", "x".repeat(8 * 1024 - 8));
    let lines = [format!("token {SECRET}"), long];
    let flags = lines.iter().flat_map(|line| ["--stderr", line]).collect::<Vec<_>>();
    let mut server = fixture("fixture", &flags);
    server["env"] = json!({ "KEY": SECRET });
    let home = Home::with_config(&json!({ "servers": [server] }));
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    let file = home.path(&format!("{LOGS}/servers/fixture.log"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("token [redacted]"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(home.path(LOGS))), (0o600, 0o700));
}

#[test]
fn a_secret_that_comes_with_a_reload_is_taken_out() {
    const SECRET: &str = "sesame-4711-open";
    let mut gateway = Gateway::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    gateway.prints("print(await mcp__fixture__add(a=1, b=2))");
    let mut server = fixture("second", &["--stderr", &format!("token {SECRET}")]);
    server["env"] = json!({ "KEY": SECRET });
    gateway.home.write("config.json", json!({ "servers": [server] }).to_string());
    wait_for(&gateway.home, "second", "token [redacted]");
    wait_for(&gateway.home, "", "was removed from the configuration");
    let is_about = |it: &Value| {
        it["server"] == "fixture" && it["message"] == "was removed from the configuration"
    };
    // A server that is not configured has no file of its own.
    let ended = logs(&gateway.home, &["--gateway", "--json"]);
    assert!(ended.stdout.lines().any(|line| is_about(&serde_json::from_str(line).unwrap())));
}

#[test]
fn nothing_in_a_log_can_steer_a_terminal() {
    let evil = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{202e}right \u{9b}2J";
    let config = json!({ "servers": [fixture("fixture", &["--stderr", evil])] });
    let home = Home::with_config(&config);
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    let shown = logs(&home, &["fixture"]).stdout;
    let expected = r"stderr: red \u{1b}]0;title\u{7} \u{202e}right \u{9b}2J";
    assert!(shown.contains(expected), "{shown}");
    // Nor can what others have written there.
    home.write(&format!("{LOGS}/servers/fixture.log"), line(&format!("{evil}\n2026-01-02 fake")));
    let shown = logs(&home, &["fixture"]).stdout;
    assert!(shown.contains(r"\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{202e}right"), "{shown}");
    assert!(shown.contains("\n    2026-01-02 fake\n"), "{shown}");
    let json = logs(&home, &["fixture", "--json"]).stdout;
    assert!(!json.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{json}");
    assert!(
        serde_json::from_str::<Value>(&json).unwrap()["message"]
            .as_str()
            .unwrap()
            .starts_with(evil)
    );
}

#[test]
fn a_full_disk_stops_nothing() {
    let flags = ["--stderr", "one", "--stderr", "two"];
    let settings = json!({
        "servers": [fixture("fixture", &flags)], "records": "off", "learn_output_types": false,
    });
    let home = Home::with_config(&settings);
    home.write(&format!("{LOGS}/servers/fixture.log"), line("before").repeat(3000));
    home.write("program.py", "print(await mcp__fixture__add(a=1, b=2))");
    let run = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    // Every write to a file that has so many blocks fails, as on a full disk.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 200; exec \"$@\"", "sh"]).arg(run.get_program());
    limited.args(run.get_args()).env_clear().current_dir(home.path("work"));
    limited.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = finish(limited);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("logs cannot be written to").count(), 1, "{}", ended.stderr);
    assert!(entries(&home, "fixture").iter().all(|entry| entry["message"] == "before"));
    // As soon as there is room, what is new is kept.
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    wait_for(&home, "fixture", "two");
}

#[test]
fn a_state_directory_that_cannot_be_written_stops_nothing() {
    let config = json!({ "servers": [fixture("fixture", &["--stderr", "hello"])] });
    let home = Home::with_config(&config);
    home.write("program.py", "print(await mcp__fixture__add(a=1, b=2))");
    home.write(LOGS, "a file and not a folder");
    for state in [home.text_path("home/state"), "/proc/onecall".to_owned()] {
        let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
        command.env("XDG_STATE_HOME", &state);
        let ended = finish(command);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
        let warning = format!("logs cannot be written to '{state}/onecall/logs': ");
        assert_eq!(ended.stderr.matches(&warning).count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn links_are_not_followed() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &["--stderr", "hello"])] }));
    let precious = home.write("precious", "as it was");
    fs::create_dir_all(home.path(&format!("{LOGS}/servers"))).unwrap();
    let file = home.path(&format!("{LOGS}/servers/fixture.log"));
    std::os::unix::fs::symlink(&precious, file).unwrap();
    let ended = home.run("print(await mcp__fixture__add(a=1, b=2))");
    assert!(ended.stderr.contains("logs cannot be written"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(precious).unwrap(), "as it was");
}

#[test]
fn without_logs_it_is_said_why() {
    let config = json!({ "servers": [fixture("fixture", &[])] });
    let home = Home::with_config(&config);
    let said = |arguments: &[&str]| {
        let ended = logs(&home, arguments);
        let stderr = ended.stderr.replace(&home.text_path(LOGS), "LOGS");
        format!("{:?} {}{}", ended.code, ended.stdout, stderr)
    };
    assert_snapshot!(said(&[]), @"Some(0) There are no logs yet. They are written to LOGS when `onecall serve` or another command starts servers");
    assert_snapshot!(said(&["fixture"]), @"Some(0) There are no logs of 'fixture' yet. They are written to LOGS when `onecall serve` or another command starts servers");
    assert_eq!(said(&["-q"]), "Some(0) ");
    assert_snapshot!(said(&["fixtrue"]), @"Some(2) error: there is no server 'fixtrue'; did you mean 'fixture'?");
    assert_snapshot!(said(&["other"]), @"Some(2) error: there is no server 'other'; there is fixture");
    home.set("logs", "off");
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    assert!(!home.path(LOGS).exists());
    assert_snapshot!(said(&[]), @"Some(0) There are no logs: the configuration has `logs: off`");
    // The logs are also shown if the configuration cannot be read.
    home.write("config.json", "{");
    home.write(&format!("{LOGS}/servers/fixture.log"), line("one"));
    assert_snapshot!(said(&["fixture"]), @"Some(0) 2026-01-02T03:04:05.678Z fixture[7] stderr: one");
}

#[test]
fn logs_go_with_their_server() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &["--stderr", "hello"])] }));
    home.write(&format!("{LOGS}/servers/fixture.log"), filler());
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    let files = || fs::read_dir(home.path(&format!("{LOGS}/servers"))).unwrap().count();
    assert_eq!(files(), 2);
    let ended = finish(home.onecall_with_config(&["remove", "fixture"]));
    assert_eq!((ended.code, files()), (Some(0), 0), "{}", ended.stderr);
}

#[test]
fn programs_cannot_reach_the_logs() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &["--stderr", "hello"])] }));
    assert_eq!(home.run("print(await mcp__fixture__add(a=1, b=2))").stdout, "3\n");
    let folders = [LOGS, &format!("{LOGS}/servers"), "home/state"].map(|it| home.text_path(it));
    for folder in folders {
        for mode in ["read-only", "read-write"] {
            let config = json!({ "workspace": { "path": folder, "mode": mode } });
            home.write("config.json", config.to_string());
            let ended = home.run("print('it ran')");
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{}", ended.stderr);
            let reason = "in which onecall keeps logins, secrets, logs, records of runs";
            assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        }
    }
}
