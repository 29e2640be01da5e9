//! `onecall runs replay`: a recorded program runs again, sees what it saw, and nothing is executed.

use std::sync::Arc;

use onecall_core::storage::{ReplayData, ReplayObstacle, RunFilter, RunLookup, RunRecord, Store};
use onecall_core::{InPlaceReason, JournalEvent, RunId};
use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{CommandResult, Gateway, Home, TIMEOUT, dedent, finish, fixture, printed};

const SECRET: &str = "sk-very-secret-1";

/// The file of the store in a home.
const STORE: &str = "home/state/onecall/onecall.db";

/// A gateway that records everything, with a secret in the environment of its server, which logs what
/// it receives. The tool `nothing` is blocked.
fn recording(more: Value) -> Gateway {
    let home = Home::new();
    let mut server = fixture("fixture", &["--log", &home.text_path("received")]);
    server["env"] = json!({ "API_KEY": SECRET });
    let mut config = json!({
        "servers": [server],
        "records": "full",
        "tools": { "block": ["mcp__fixture__nothing"] },
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    home.write("config.json", config.to_string());
    Gateway::in_home(home)
}

fn store(home: &Home) -> Arc<dyn Store> {
    onecall_store::open(home.path(STORE))
}

/// The newest run, once so many are recorded.
fn newest_of(home: &Home, count: usize) -> RunRecord {
    let store = store(home);
    let mut runs = Vec::new();
    assert!(wait_until(TIMEOUT, || {
        runs = store.runs(&RunFilter::default()).unwrap_or_default();
        runs.len() >= count
    }));
    match store.find_run(runs[0].id.as_str()).unwrap() {
        RunLookup::One(record) => *record,
        other => panic!("{other:?}"),
    }
}

fn replayed(home: &Home, id: &str) -> CommandResult {
    finish(home.onecall_with_config(&["runs", "replay", id]))
}

/// Runs a program and replays it without its server. The result is what the program printed.
fn prints_the_same(gateway: &mut Gateway, code: &str) -> String {
    let printed = gateway.prints(code);
    prints_again(gateway, 1, &printed);
    printed
}

/// Replays the newest of so many runs without servers: it prints this, except for secrets.
fn prints_again(gateway: &Gateway, count: usize, printed: &str) {
    let record = newest_of(&gateway.home, count);
    let id = record.run.id.as_str();
    let received = std::fs::read(gateway.home.path("received")).unwrap_or_default();
    let with_servers = replayed(&gateway.home, id);
    gateway.home.write("config.json", json!({ "records": "full" }).to_string());
    let same = format!("onecall: the same output as in run {id}\n");
    let stdout = printed.replace(SECRET, "[redacted]");
    let expected = CommandResult { code: Some(0), stdout, stderr: same };
    assert_eq!(with_servers, expected);
    assert_eq!(replayed(&gateway.home, id), expected);
    // The servers were not even started, and the replays are not recorded.
    assert_eq!(std::fs::read(gateway.home.path("received")).unwrap_or_default(), received);
    assert_eq!(newest_of(&gateway.home, count).run.id, record.run.id);
}

#[test]
fn parallel_calls_times_and_random_numbers() {
    let code = "
        import asyncio, datetime, random, time, uuid

        async def one(number):
            await asyncio.sleep(random.random() / 50)
            sum = await mcp__fixture__add(number, random.randint(1, 1000))
            print(number, sum, time.monotonic())
            return sum

        print(await asyncio.gather(*(one(number) for number in range(10))))
        tasks = [asyncio.ensure_future(one(number)) for number in range(5)]
        for done in asyncio.as_completed(tasks):
            print(await done)
        print(time.time(), datetime.datetime.now(), uuid.uuid4(), random.random())
    ";
    prints_the_same(&mut recording(json!({})), code);
}

#[test]
fn errors_denials_and_timeouts() {
    let code = "
        import asyncio
        for name in ['mcp__fixture__nothing', 'mcp__fixture__echo']:
            try:
                print(await globals()[name](value='x'))
            except ToolError as error:
                print(error)
        try:
            await mcp__fixture__fail(message='not today')
        except ToolError as error:
            print(error)
        try:
            await asyncio.wait_for(mcp__fixture__hang(), 0.1)
        except TimeoutError:
            print('it hangs')
        print(await asyncio.gather(
            mcp__fixture__fail(message='no'), mcp__fixture__add(1, 2), return_exceptions=True
        ))
    ";
    let printed = prints_the_same(&mut recording(json!({})), code);
    let expected = "'mcp__fixture__nothing' is not available in execute_program\nx\n\
                    'mcp__fixture__fail' failed: not today\nit hangs\n";
    assert!(printed.starts_with(expected), "{printed}");
}

#[test]
fn questions_and_cached_answers() {
    let code = "
        print([await mcp__fixture__add(1, 2) for _ in range(3)], cache.stats())
        print(await cache.fresh(mcp__fixture__add, 1, 2), await cache.clear('mcp__fixture__*'))
        print([tool['name'] for tool in tools.search('add two numbers')])
        print([name for name in dir(tools) if name.startswith('a')], tools.add(20, 22))
        help(tools.add)
    ";
    let printed = prints_the_same(&mut recording(json!({ "cache": {} })), code);
    assert!(printed.contains("'hits': 2") && printed.contains("mcp__fixture__add"), "{printed}");
}

#[test]
fn a_durable_run() {
    let code = "
        import asyncio, random
        print(await asyncio.gather(*(mcp__fixture__add(it, random.random()) for it in range(5))))
        print(await mcp__fixture__counter(), random.random())
    ";
    prints_the_same(&mut recording(json!({ "durable": true })), code);
}

#[test]
fn a_program_that_fails() {
    let mut gateway = recording(json!({}));
    let code = "print(await mcp__fixture__counter())\nraise ValueError('no')";
    gateway.fails(code);
    let id = newest_of(&gateway.home, 1).run.id;
    let ended = replayed(&gateway.home, id.as_str());
    let said = format!(
        "onecall: it failed with ValueError: no\nonecall: the same output as in run {id}\n"
    );
    assert_eq!(ended, CommandResult { code: Some(0), stdout: "1\n".to_owned(), stderr: said });
}

#[test]
fn a_typescript_program() {
    let mut gateway = recording(json!({ "cache": {} }));
    let code = "
        const key = 'sk-very-secret-1'; console.log(await mcp__fixture__counter(), key.length > 3);
        const one = async (number: number) => {
          await new Promise((done) => setTimeout(done, Math.random() * 20));
          console.log(await mcp__fixture__add({ a: number, b: Math.random() }), performance.now());
        };
        await Promise.all([1, 2, 3, 4, 5].map(one));
        await globalThis['mcp__fixture__nothing']({ value: 'x' }).catch((error) => console.log(error.message));
        await mcp__fixture__fail({ message: key }).catch((error) => console.log(error.message));
        console.log((await tools.search('add two numbers', 1))[0].signature, await tools.add(20, 22));
        console.log(Date.now(), new Date().toISOString(), crypto.randomUUID());
    ";
    let answer = gateway.execute_typescript(code);
    prints_again(&gateway, 1, &printed(&answer));
}

/// Everything that a record has as text, uncompressed.
fn recorded_text(record: &RunRecord) -> String {
    let mut text = format!("{record:?}");
    let ReplayData::Journal(journal) = &record.replay else { panic!("{text}") };
    for event in &journal.events {
        if let JournalEvent::Observed { bytes } = event {
            text.push_str(&String::from_utf8_lossy(bytes));
        }
    }
    text
}

#[test]
fn secrets_are_in_no_part_of_the_record() {
    let mut gateway = recording(json!({}));
    // The secret moves the call that follows it.
    let code = "
        key = 'sk-very-secret-1'; print(await mcp__fixture__echo(value=key))
        try:
            await mcp__fixture__fail(message=f'{key} is wrong: \"{key}\"')
        except ToolError as error:
            print(error)
        print(await mcp__fixture__echo(value={'nested': [key, {'key': key}]}))
    ";
    prints_the_same(&mut gateway, code);
    let record = newest_of(&gateway.home, 1);
    let text = recorded_text(&record);
    assert!(!text.contains(SECRET) && text.contains("[redacted] is wrong"), "{text}");
    for file in gateway.home.state_files() {
        let bytes = std::fs::read(&file).unwrap();
        let has_secret = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!has_secret, "{}", file.display());
    }
}

/// Stores a changed copy of a record, and replays that.
fn replay_changed(home: &Home, id: &str, change: impl FnOnce(&mut RunRecord)) -> CommandResult {
    let mut record = newest_of(home, 1);
    record.run.id = RunId::from_existing(format!("0{id}"));
    // It is never the newest run.
    record.run.started.0 -= 1_000_000;
    change(&mut record);
    store(home).put_run(&record).unwrap();
    replayed(home, record.run.id.as_str())
}

#[test]
fn a_program_that_differs_stops_and_executes_nothing() {
    let mut gateway = recording(json!({}));
    let code = "
        print('begin')
        first = await mcp__fixture__counter()
        print(await mcp__fixture__add(a=first, b=2))
    ";
    assert_eq!(gateway.prints(code), "begin\n3\n");
    let code = dedent(code);
    newest_of(&gateway.home, 1);
    let received = std::fs::read(gateway.home.path("received")).unwrap();
    let cases = [
        (("b=2", "b=3"), "(line 3): it calls 'mcp__fixture__add' with other arguments", 1),
        (("first = ", "first = 0 + "), "(line 2): it calls 'mcp__fixture__counter' at", 2),
        (
            ("print('begin')", "await mcp__fixture__echo(value=1)"),
            "in line 1 the program uses the name 'mcp__fixture__echo'",
            2,
        ),
        (
            ("b=2))", "b=2), await mcp__fixture__counter())"),
            "in line 3 the program calls 'mcp__fixture__counter', and in the recorded run it",
            0,
        ),
        (("print(await mcp__fixture__add(a=first, b=2))", "1 / 0"), "the program ends", 1),
    ];
    for (number, ((before, after), expected, left)) in cases.into_iter().enumerate() {
        let ended = replay_changed(&gateway.home, &number.to_string(), |record| {
            assert_eq!(record.program, code);
            record.program = code.replace(before, after);
        });
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let stopped = "onecall: the run cannot be replayed, because the program does not repeat what \
                       it did before";
        assert!(ended.stderr.starts_with(stopped), "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        let end = "A replay makes no calls, so nothing was executed\n";
        assert!(ended.stderr.contains(end), "{}", ended.stderr);
        let not_made = match left {
            0 => "",
            1 => "onecall: 1 recorded call was not made this time\n",
            _ => "onecall: 2 recorded calls were not made this time\n",
        };
        assert!(ended.stderr.contains(not_made), "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("not made this time"), left > 0, "{}", ended.stderr);
    }
    assert_eq!(std::fs::read(gateway.home.path("received")).unwrap(), received);
}

#[test]
fn a_record_says_why_it_cannot_be_replayed() {
    let mut gateway = recording(json!({}));
    let refused = |home: &Home, count: usize, reason: &str| {
        let id = newest_of(home, count).run.id;
        let said = format!(
            "error: run {id} cannot be replayed, because {reason}; `onecall runs show {id}` shows the \
             run\n"
        );
        let expected = CommandResult { code: Some(2), stdout: String::new(), stderr: said };
        assert_eq!(replayed(home, id.as_str()), expected);
        let shown = finish(home.onecall_with_config(&["runs", "show", id.as_str()])).stdout;
        assert!(shown.contains("everything; it cannot be replayed, because"), "{shown}");
        let json =
            finish(home.onecall_with_config(&["runs", "show", id.as_str(), "--json"])).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["not_replayable_because"], reason);
        assert_eq!(json["replayable"], false);
    };
    gateway.prints(
        "
        import threading
        thread = threading.Thread(target=lambda: print(tools.add(1, 2)))
        thread.start()
        thread.join()
        ",
    );
    refused(&gateway.home, 1, InPlaceReason::Threads.explanation());
    gateway.prints("import time\nfor _ in range(100_002): time.time()\nprint(1)");
    refused(&gateway.home, 2, InPlaceReason::Clock.explanation());
    let session = json!({ "code": "print(1)", "session": "mine" });
    assert!(!gateway.session.call_tool("execute_program", session).is_error);
    refused(&gateway.home, 3, InPlaceReason::Session.explanation());
    gateway.fails("await mcp__fixture__missing()");
    refused(&gateway.home, 4, ReplayObstacle::NotBegun.explanation());
    let large = "
        for _ in range(5):
            await mcp__fixture__echo(value='x' * 4_000_000)
    ";
    gateway.prints(large);
    refused(&gateway.home, 5, InPlaceReason::JournalSize.explanation());
}

#[test]
fn a_record_of_an_older_version_says_so() {
    let mut gateway = recording(json!({}));
    gateway.prints("print(1)");
    let ended = replay_changed(&gateway.home, "1", |record| record.replay = ReplayData::None);
    let said = "error: run 01 was recorded by an older version of onecall, which did not keep what a \
                replay needs; `onecall runs show 01` shows the run, and a new run of its program can be \
                replayed\n";
    assert_eq!(
        ended,
        CommandResult { code: Some(2), stdout: String::new(), stderr: said.to_owned() }
    );
}

/// The workspace is read-only in a replay: only a program that differs would write to it.
#[test]
fn a_replay_does_not_write_to_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = json!({ "path": folder.path(), "mode": "read-write" });
    let mut gateway = recording(json!({ "workspace": workspace }));
    gateway.prints("print(1)");
    let ended = replay_changed(&gateway.home, "1", |record| {
        record.program = "print(1)\nopen('new', 'w').write('x')".to_owned();
    });
    assert_eq!((ended.code, folder.path().read_dir().unwrap().count()), (Some(1), 0), "{ended:?}");
    gateway.prints("open('new', 'w').write('x')");
    let id = newest_of(&gateway.home, 3).run.id;
    let ended = replayed(&gateway.home, id.as_str());
    assert!(ended.stderr.contains(InPlaceReason::Workspace.explanation()), "{ended:?}");
}
