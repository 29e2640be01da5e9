//! The audit trail: every way to call a tool leaves rows, a killed gateway leaves a trail that can be
//! checked, and calls are refused while nothing can be written.

use onecall_core::storage::{Approvals as _, Journals as _, QuestionFilter};
use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::approvals::files;
use crate::support::{Gateway, Home, ReceivedMessages, TIMEOUT, finish, fixture, printed};

/// The file of the store in a home.
const STORE: &str = "home/state/onecall/onecall.db";

/// A home with the server `files`, and more settings.
fn home(more: &Value) -> (Home, ReceivedMessages) {
    let home = Home::new();
    let mut config = json!({ "servers": [files(&home.text_path("received"))], "audit": "hash" });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    home.write("config.json", config.to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    (home, received)
}

/// The output of `onecall audit` with these arguments, which must succeed.
fn audit(home: &Home, arguments: &[&str]) -> String {
    let arguments = [&["audit"], arguments].concat();
    let ended = finish(home.onecall_with_config(&arguments));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    ended.stdout
}

/// All rows, oldest first.
fn rows(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let text = audit(home, &[&["--json", "-n", "100000"], arguments].concat());
    let mut rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows.reverse();
    rows
}

/// A row about a call in a few words.
fn brief(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (call, event) = (&row["call"], &row["event"]);
    let cached = if event["cached"] == true { " cached" } else { "" };
    let what = match text(&event["what"]).as_str() {
        "decided" => format!("{} {}", text(&event["decision"]), text(&event["rule"])),
        "answered" => format!("{} ({})", text(&event["verdict"]), text(&event["way"])),
        "ended" => format!("ended {}{cached}", text(&event["outcome"])),
        other => other.to_owned(),
    };
    format!("{} {} {}", text(&call["kind"]), text(&call["tool"]), what).trim().to_owned()
}

fn verify(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = [&["audit", "verify"], arguments].concat();
    let ended = finish(home.onecall_with_config(&arguments));
    (ended.code, ended.stdout)
}

/// Replaces a text wherever it is in the file of the store. No process may have it open.
fn replace_in_store(home: &Home, text: &str, by: &str) {
    let file = home.path(STORE);
    let mut bytes = std::fs::read(&file).unwrap();
    let is_there = |at: &usize| bytes[*at..].starts_with(text.as_bytes());
    let places: Vec<usize> = (0..bytes.len()).filter(is_there).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + text.len()].copy_from_slice(by.as_bytes());
    }
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn every_way_to_call_a_tool_leaves_rows() {
    let (home, received) = home(&json!({
        "cache": {},
        "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 60 },
        "tools": { "block": ["mcp__files__stuck"] },
        "expose_tools": ["mcp__files__read"],
    }));
    let mut gateway = Gateway::in_home(home);
    let read = "print(await mcp__files__read(path='a'))";
    assert_eq!((gateway.prints(read), gateway.prints(read)), ("read\n".into(), "read\n".into()));
    let blocked = "
        try:
            await eval('mcp__files__stuck')()
        except Exception as error:
            print(error)";
    gateway.execute(blocked);
    let plan = json!({ "target_tool": "mcp__files__read", "tool_args": { "path": "plan" } });
    gateway.session.call_tool("proxy", plan);
    gateway.session.call_tool("mcp__files__read", json!({ "path": "exposed" }));
    gateway.execute("await list_resources()");
    let deleting = gateway.start("print(await mcp__files__delete(path='a'))");
    let mut questions = Vec::new();
    wait_until(TIMEOUT, || {
        let listed = finish(gateway.home.onecall_with_config(&["approvals", "list", "--json"]));
        questions = serde_json::from_str::<Vec<Value>>(&listed.stdout).unwrap();
        !questions.is_empty()
    });
    // Nothing was sent before the answer.
    assert_eq!(received.calls("delete"), 0);
    let item = questions[0]["id"].as_str().unwrap();
    let approved = finish(gateway.home.onecall_with_config(&["approvals", "approve", item]));
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(printed(&gateway.session.finish_call(deleting)), "deleted\n");
    let Gateway { mut session, home } = gateway;
    session.client().close_stdin();
    assert!(session.client().wait(TIMEOUT).is_some_and(|status| status.success()));
    let direct = finish(home.onecall_with_config(&["call", "mcp__files__read", "path=direct"]));
    assert_eq!(direct.code, Some(0), "{}", direct.stderr);
    let rows = rows(&home, &[]);
    let shown: Vec<_> = rows.iter().map(brief).collect();
    insta::assert_snapshot!(shown.join("\n"));
    assert_eq!(verify(&home, &[]).0, Some(0));

    let first = &rows[1];
    let program = onecall_core::Digest::of(read).to_string();
    let arguments = onecall_core::Digest::of(r#"{"path":"a"}"#).to_string();
    assert_eq!(first["user"], "local");
    assert_eq!(first["call"]["program"], program);
    let kept = &first["event"]["arguments"];
    assert_eq!(kept, &json!({ "sha256": arguments, "bytes": kept["bytes"] }));
    let answered = rows.iter().find(|row| row["event"]["what"] == "answered").unwrap();
    assert_ne!(answered["event"]["by"], "");
    assert_eq!(answered["call"]["run"], questions[0]["run"]);
    let run = answered["call"]["run"].as_str().unwrap();
    let of_run = self::rows(&home, &["--run", run]);
    assert_eq!(of_run.len(), 3);
    let denied = self::rows(&home, &["--denied", "--tool", "mcp__files__*", "--user", "local"]);
    assert_eq!(
        denied.iter().map(brief).collect::<Vec<_>>(),
        ["program mcp__files__stuck deny tools"]
    );
}

#[test]
fn a_call_under_way_when_the_gateway_is_killed_has_begun_and_not_ended() {
    let (home, received) = home(&json!({}));
    let mut gateway = Gateway::in_home(home);
    assert_eq!(gateway.prints("print(await mcp__files__delete(path='a'))"), "deleted\n");
    let _unanswered = gateway.start("await mcp__files__stuck(path='a')");
    received.wait_for_call("stuck");
    gateway.session.client().kill();
    let (code, text) = verify(&gateway.home, &[]);
    assert_eq!(code, Some(0), "{text}");
    let rows = rows(&gateway.home, &[]);
    assert_eq!(
        rows.iter().map(brief).collect::<Vec<_>>(),
        [
            "started",
            "program mcp__files__delete allow",
            "program mcp__files__delete ended ok",
            "program mcp__files__stuck allow",
        ]
    );
    // The next gateway extends the same trail.
    let mut gateway = Gateway::in_home(gateway.home);
    assert_eq!(gateway.prints("print(await mcp__files__delete(path='b'))"), "deleted\n");
    let (code, text) = verify(&gateway.home, &[]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn what_was_done_to_the_trail_is_reported_with_its_row() {
    let (home, _) = home(&json!({}));
    assert_eq!(verify(&home, &[]), (Some(0), "The audit trail is empty\n".to_owned()));
    assert_eq!(finish(home.onecall_with_config(&["audit", "head"])).code, Some(1));
    for path in ["path=1", "path=2", "path=3"] {
        finish(home.onecall_with_config(&["call", "mcp__files__read", path]));
    }
    let head = audit(&home, &["head"]);
    let head = head.trim();
    assert_eq!(
        verify(&home, &["--expect", head]),
        (Some(0), format!("The audit trail is intact: 6 rows.\nThe newest is {head}\n"))
    );
    let digest = rows(&home, &[])[2]["event"]["arguments"]["sha256"].as_str().unwrap().to_owned();
    let other: String = digest.chars().rev().collect();
    replace_in_store(&home, &digest, &other);
    let (code, text) = verify(&home, &[]);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(text);
    let (code, text) = verify(&home, &["--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["intact"], &report["rows"]), (Some(1), &json!(false), &json!(6)));
    let wrong = finish(home.onecall_with_config(&["audit", "verify", "--expect", "12"]));
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("a number, a colon and 64 hexadecimal digits"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn arguments_are_kept_in_full_without_secrets() {
    let home = Home::new();
    let mut server = files(&home.text_path("received"));
    server["env"] = json!({ "TOKEN": "hunter2-hunter2" });
    home.write("config.json", json!({ "servers": [server], "audit": "full" }).to_string());
    let long = "x".repeat(40_000);
    home.run(&format!(
        "
        await mcp__files__read(path='a hunter2-hunter2 b')
        await mcp__files__read(path='{long}')"
    ));
    let rows = rows(&home, &[]);
    let kept = |row: &Value| row["event"]["arguments"].clone();
    assert_eq!(
        kept(&rows[0])["text"].as_str().map(|it| it.replace(' ', "")),
        Some(r#"{"path":"a[redacted]b"}"#.to_owned())
    );
    let cut = kept(&rows[2]);
    let text = cut["text"].as_str().unwrap();
    assert!(text.ends_with("xxx…") && text.len() < 17_000, "{}", text.len());
    assert!(cut["bytes"].as_u64().unwrap() > 40_000);
    assert!(!audit(&home, &["--json"]).contains("hunter2"));
}

#[test]
fn while_the_trail_cannot_be_written_no_tool_is_called() {
    let (home, received) = home(&json!({}));
    home.write("blocked", "a file where the folder of the store would be");
    let store = json!({ "path": home.text_path("blocked/onecall.db") });
    let config = json!({
        "servers": [files(&home.text_path("received"))], "audit": "hash", "store": store,
    });
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    let call = |tool: &str| {
        format!(
            "try:\n    print(await mcp__files__{tool}(path='a'))\nexcept Exception as error:\n    \
             print(error)"
        )
    };
    let refused = gateway.prints(&call("delete"));
    let beginning = "'mcp__files__delete' failed: it was not called, because the audit trail cannot \
                     be written: the store '";
    assert!(refused.starts_with(beginning), "{refused}");
    let refused = gateway.prints(&call("read"));
    assert!(refused.contains("the audit trail cannot be written"), "{refused}");
    assert_eq!((received.calls("delete"), received.calls("read")), (0, 0));
    assert_eq!(gateway.prints("print('no calls')"), "no calls\n");
    gateway.wait_for_log(&["ERROR", "the audit trail cannot be written, so no tool is called"]);

    std::fs::remove_file(gateway.home.path("blocked")).unwrap();
    let works = wait_until(TIMEOUT, || gateway.prints(&call("delete")) == "deleted\n");
    assert!(works);
    let errors = gateway.session.client().stderr();
    assert_eq!(errors.matches("so no tool is called").count(), 1, "{errors}");
    let (code, text) = verify(&gateway.home, &[]);
    assert_eq!(code, Some(0), "{text}");
    // The row about the start was kept until it could be written. The end of a call is written moments
    // after the call.
    let mut shown = Vec::new();
    let last = ["program mcp__files__delete allow", "program mcp__files__delete ended ok"];
    let is_written = wait_until(TIMEOUT, || {
        shown = rows(&gateway.home, &[]).iter().map(brief).collect();
        shown.ends_with(&last.map(str::to_owned))
    });
    assert!(is_written, "{shown:?}");
    assert_eq!(shown.first().map(String::as_str), Some("started"));
}

#[test]
fn a_user_makes_no_more_calls_in_a_minute_than_permitted() {
    let (home, received) = home(&json!({ "users": { "calls_per_minute": 3 } }));
    let mut gateway = Gateway::in_home(home);
    let code = "
        for number in range(2):
            try:
                print(await mcp__files__read(path=str(number)))
            except Exception as error:
                print(error)";
    assert_eq!(gateway.prints(code), "read\nread\n");
    // All runs of the user count together.
    let printed = gateway.prints(code);
    let (first, second) = printed.split_once('\n').unwrap();
    assert_eq!(first, "read");
    let beginning = "'mcp__files__read' failed: it was not called, because you have made 3 calls in \
                     the last minute, and 'calls_per_minute' in users permits no more; try again in ";
    assert!(second.starts_with(beginning) && second.ends_with("s\n"), "{second}");
    assert_eq!(received.calls("read"), 3);
}

#[test]
fn a_users_further_programs_wait_although_there_are_places() {
    let home = Home::new();
    let servers = [fixture("fixture", &["--log", &home.text_path("received")])];
    let config = json!({ "servers": servers, "users": { "max_programs": 1 } });
    home.write("config.json", config.to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    let mut gateway = Gateway::with_info_log(home);
    let first = gateway.start("await mcp__fixture__hang()");
    received.wait_for_call("hang");
    let second = gateway.start("print(2)");
    gateway.wait_for_log(&["a program waits: 1 run, 1 wait"]);
    gateway.session.cancel(first);
    assert_eq!(printed(&gateway.session.finish_call(second)), "2\n");
}

/// What a continued run repeats from its journal was kept when it was done. A call that waited for a
/// person when its process let the run go has not ended.
#[test]
fn a_continued_run_leaves_no_rows_for_what_it_repeats() {
    let (home, received) = home(&json!({
        "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 0, "keep_seconds": 0 },
    }));
    let store = onecall_store::open_durable(home.path(STORE), 256);
    let mut gateway = Gateway::in_home(home);
    gateway.execute(
        "
        await mcp__files__read(path='a')
        print(await mcp__files__delete(path='a'))",
    );
    let open = QuestionFilter { run: None, open: true, ..QuestionFilter::default() };
    let question = store.questions(&open).unwrap().remove(0).question;
    let is_let_go = || {
        let runs = store.durable_runs(false).unwrap();
        runs.first().is_some_and(|run| run.lease.is_none())
    };
    assert!(wait_until(TIMEOUT, is_let_go));
    let item = question.item.as_str();
    let approved = finish(gateway.home.onecall_with_config(&["approvals", "approve", item]));
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let mut shown = Vec::new();
    let has_ended = wait_until(TIMEOUT, || {
        shown = rows(&gateway.home, &[]).iter().map(brief).collect();
        shown.iter().any(|row| row == "program mcp__files__delete ended ok")
    });
    assert!(has_ended, "{shown:?}");
    let ask = "program mcp__files__delete ask approvals.ask: mcp__files__delete";
    assert_eq!(
        shown,
        [
            "started",
            "program mcp__files__read allow",
            "program mcp__files__read ended ok",
            ask,
            ask,
            "program mcp__files__delete approve (cli)",
            "program mcp__files__delete ended ok",
        ]
    );
    assert_eq!((received.calls("read"), received.calls("delete")), (1, 1));
}

#[test]
fn a_gateway_that_stops_notes_the_calls_that_it_cancels() {
    let (home, received) = home(&json!({}));
    let mut gateway = Gateway::in_home(home);
    let _unanswered = gateway.start("await mcp__files__stuck(path='a')");
    received.wait_for_call("stuck");
    gateway.session.client().close_stdin();
    assert!(gateway.session.client().wait(TIMEOUT).is_some_and(|status| status.success()));
    let rows: Vec<_> = rows(&gateway.home, &[]).iter().map(brief).collect();
    assert_eq!(
        rows,
        [
            "started",
            "program mcp__files__stuck allow",
            "program mcp__files__stuck ended cancelled",
            "stopped",
        ]
    );
}
