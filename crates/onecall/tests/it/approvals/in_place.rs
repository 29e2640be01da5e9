//! Runs that only their own gateway can continue: the answer says why, and what they did to files,
//! processes and the network is not done twice.

use serde_json::{Value, json};

use super::{Agent, DELETE_ONE, Desk, extend, waiting_run};
use crate::support::{dedent, has_system_python};

/// What an answer says about a run that only its own gateway can continue.
fn only_here(answer: &str) -> Option<&str> {
    let (_, reason) =
        answer.split_once("This run can only be continued while this onecall runs, ")?;
    reason.strip_prefix("because ")?.strip_suffix('.')
}

impl Agent {
    /// Runs a program that waits, gives it up, and returns why only this gateway could continue it.
    fn reason(&mut self, desk: &Desk, arguments: &Value) -> Option<String> {
        let answer = self.0.call_tool("execute_program", arguments.clone());
        let run = waiting_run(&answer);
        let reason = only_here(&answer.text).map(str::to_owned);
        desk.deny(&desk.open_item(), "no");
        desk.wait_until_ended(&run);
        reason
    }
}

/// The engines of Python that there are here.
fn engines() -> Vec<&'static str> {
    let engines = ["python", "cpython"].into_iter();
    engines.filter(|engine| *engine == "python" || has_system_python()).collect()
}

#[test]
fn the_answer_says_why_a_run_is_continued_only_here() {
    let workspace = tempfile::tempdir().expect("a folder");
    let settings = json!({ "workspace": { "path": workspace.path(), "mode": "read-write" } });
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &settings);
    let mut agent = desk.agent();
    let threads = r#"
        import threading
        thread = threading.Thread(target=lambda: tools.read(path="/a"))
        thread.start()
        thread.join()
        await mcp__files__delete(path="/a")
    "#;
    let clock = r#"
        import time
        for _ in range(100_002): time.time()
        await mcp__files__delete(path="/a")
    "#;
    let files = r#"
        open("notes.txt", "w").write("x")
        await mcp__files__delete(path="/a")
    "#;
    let plain = r#"
        import os, time
        print(os.listdir("."), time.time())
        await mcp__files__delete(path="/a")
    "#;
    let wrote = Some("the program wrote to the workspace");
    for engine in engines() {
        let cases = [
            (threads, Some("threads of the program call tools")),
            (clock, Some("the program reads the clock too often")),
            (files, wrote),
            (plain, None),
        ];
        for (code, expected) in cases {
            let arguments = json!({ "code": dedent(code), "engine": engine });
            assert_eq!(agent.reason(&desk, &arguments).as_deref(), expected, "{engine}: {code}");
        }
    }
    let typescript = |code: &str| json!({ "code": dedent(code), "language": "typescript" });
    let files = typescript(
        r#"
        import fs from "fs";
        fs.writeFileSync("notes.txt", "x");
        await mcp__files__delete({ path: "/a" });
        "#,
    );
    assert_eq!(agent.reason(&desk, &files).as_deref(), wrote);
    let plain = typescript(r#"await mcp__files__delete({ path: "/a" });"#);
    assert_eq!(agent.reason(&desk, &plain), None);
}

/// A desk whose programs have no sandbox, and may write files because they have a workspace.
fn unconfined() -> Desk {
    let workspace = json!({ "path": "workspace", "mode": "read-write" });
    let settings = json!({ "sandbox": "off", "workspace": workspace });
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &settings);
    desk.home.write("workspace/empty", "");
    desk
}

/// Without a sandbox, nothing keeps a program from changing the machine.
#[test]
fn without_a_sandbox_every_effect_keeps_a_run_in_its_gateway() {
    let desk = unconfined();
    desk.home.write("there.txt", "there");
    let mut agent = desk.agent();
    let here = desk.home.text_path("");
    let effects = [
        "open(here + 'a', 'a').write('x')",
        "import io; io.open(here + 'b', 'w').close()",
        "import io; io.FileIO(here + 'c', 'w').close()",
        "import os; os.close(os.open(here + 'd', os.O_CREAT | os.O_WRONLY))",
        "import os; os.mkdir(here + 'e'); os.rmdir(here + 'e')",
        "import os; os.rename(here + 'a', here + 'f')",
        "import os; os.remove(here + 'f')",
        "import pathlib; pathlib.Path(here, 'g').write_text('x')",
        "import shutil; shutil.copy(here + 'there.txt', here + 'h')",
        "import gzip; gzip.open(here + 'i', 'wb').close()",
        "import tempfile; tempfile.TemporaryFile().close()",
        "import os; os.system('true')",
        "import subprocess; subprocess.run(['true'])",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 9))",
    ];
    let harmless = [
        "print(open(here + 'there.txt').read())",
        "import os; print(os.listdir(here), os.path.exists(here))",
        "import os; open(os.devnull, 'w').write('x')",
        "import io, json; json.dump([1], io.StringIO())",
    ];
    let unconfined =
        Some("the program has no sandbox and changed files, started a process or used the network");
    for engine in engines() {
        let cases = effects.map(|it| (it, unconfined)).into_iter();
        for (code, expected) in cases.chain(harmless.map(|it| (it, None))) {
            let code = format!("here = {here:?}\n{code}\n{}", dedent(DELETE_ONE));
            let arguments = json!({ "code": code, "engine": engine });
            assert_eq!(agent.reason(&desk, &arguments).as_deref(), expected, "{engine}: {code}");
        }
    }
    let code = format!(
        "import fs from 'fs';\nfs.writeFileSync({here:?} + '/ts', 'x');\n\
         await mcp__files__delete({{ path: '/a' }});"
    );
    let arguments = json!({ "code": code, "language": "typescript" });
    assert_eq!(agent.reason(&desk, &arguments).as_deref(), unconfined);
}

#[test]
fn what_was_written_without_a_sandbox_is_not_written_again() {
    for engine in engines() {
        let desk = unconfined();
        let mut agent = desk.agent();
        let path = desk.home.text_path("written");
        let code = format!("open({path:?}, 'a').write('x')\n{}", dedent(DELETE_ONE));
        let arguments = json!({ "code": code, "engine": engine });
        let run = waiting_run(&agent.0.call_tool("execute_program", arguments));
        let item = desk.open_item();
        agent.0.client().kill();
        desk.end_leases();
        let mut agent = desk.agent();
        desk.approve(&item);
        desk.wait_until_ended(&run);
        let answer = agent.resume(&run);
        let refused = "the run cannot be continued: the onecall that executed it has ended, and the \
                       program has no sandbox";
        assert!(answer.is_error && answer.text.contains(refused), "{}", answer.text);
        let written = std::fs::read_to_string(desk.home.path("written")).expect("a file");
        assert_eq!((written.as_str(), desk.deletions()), ("x", 0), "{engine}");
    }
}

/// Forms say it, too.
#[test]
fn a_form_says_that_a_run_is_continued_only_here() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let mut agent = desk.agent_with_forms(&json!({ "action": "cancel" }));
    let mut arguments = json!({ "code": dedent(DELETE_ONE) });
    extend(&mut arguments, &json!({ "session": "s" }));
    waiting_run(&agent.0.call_tool("execute_program", arguments));
    let asked = agent.0.client().server_requests()[0].clone();
    let message = asked["params"]["message"].as_str().expect("a message");
    assert_eq!(only_here(message), Some("the program belongs to a session"), "{message}");
}
