//! Stores that cannot be opened or written: what needs an approval is refused, and nothing is called
//! without one.

use std::process::Command;

use serde_json::json;
use testkit::mcp::Session;
use testkit::process::wait_until;

use super::{Agent, DELETE_ONE, Desk};
use crate::support::{TIMEOUT, finish};

const READ_ONE: &str = r#"print(await mcp__files__read(path="/a"))"#;

const READ: &str = "[Script executed successfully]\nread\n";

/// Checks that a gateway says that it refuses calls, refuses them, and makes others.
fn check_refusal(desk: &Desk, serve: Command, run: Command, reason: &str) {
    let mut agent = Agent(Session::open(serve));
    let announced = "calls that need an approval, or a journal before they are sent, are refused: ";
    let client = agent.0.client();
    let is_announced = || {
        let log = client.stderr();
        log.lines().any(|line| line.contains(announced) && line.contains(reason))
    };
    assert!(wait_until(TIMEOUT, is_announced), "{}", agent.0.client().stderr());
    let answer = agent.execute(DELETE_ONE);
    assert!(answer.is_error, "{}", answer.text);
    let refusal = "[Script execution failed]\n";
    assert!(answer.text.starts_with(refusal) && answer.text.contains(reason), "{}", answer.text);
    assert_eq!(agent.execute(READ_ONE).text, READ);
    let ended = finish(run);
    assert!(ended.code != Some(0) && ended.stderr.contains(reason), "{ended:?}");
    assert_eq!(ended.stdout, "before\n");
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn without_a_state_directory_nothing_is_called_unapproved() {
    let desk = Desk::new(&json!({}));
    let program = desk.home.write("program.py", crate::support::dedent(DELETE_ONE));
    let without_home = |arguments: &[&str]| {
        let mut command = desk.home.onecall_with_config(arguments);
        command.env_remove("HOME").env_remove("XDG_STATE_HOME");
        command
    };
    let run = without_home(&["run", program.to_str().expect("a path")]);
    let reason = "onecall cannot find your state directory";
    check_refusal(&desk, without_home(&["serve"]), run, reason);
}

#[test]
fn a_store_that_cannot_be_opened_approves_nothing() {
    for (path, reason) in [("config.json/onecall.db", "cannot be used"), ("newer.db", "version 99")]
    {
        let desk = Desk::new(&json!({}));
        let path = desk.home.path(path);
        if reason == "version 99" {
            let store = onecall_store::open_durable(path.clone(), 256);
            onecall_core::storage::Journals::durable_runs(&*store, false).expect("a new store");
            drop(store);
            set_version(&path, 99);
        }
        let config = std::fs::read_to_string(desk.home.path("config.json")).expect("a file");
        let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
        config["store"] = json!({ "path": path });
        desk.home.write("config.json", config.to_string());
        let program = desk.home.write("program.py", crate::support::dedent(DELETE_ONE));
        let run = desk.home.onecall_with_config(&["run", program.to_str().expect("a path")]);
        check_refusal(&desk, desk.home.onecall_with_config(&["serve"]), run, reason);
    }
}

/// Sets the version of a store, which is in the header of its file.
fn set_version(path: &std::path::Path, version: u8) {
    let mut bytes = std::fs::read(path).expect("a file");
    bytes[60..64].copy_from_slice(&[0, 0, 0, version]);
    std::fs::write(path, bytes).expect("a file");
}

/// An agent on a gateway whose files cannot grow beyond some megabytes, as on a full disk.
fn agent_on_full_disk(desk: &Desk) -> Agent {
    agent_after(desk, "ulimit -f 3000")
}

/// An agent on a gateway that a shell starts after this command. A file that may not grow is an error
/// for the gateway, and not its end.
fn agent_after(desk: &Desk, command: &str) -> Agent {
    let serve = desk.home.onecall_with_config(&["serve"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("trap '' XFSZ; {command}; exec \"$@\""), "sh"]);
    limited.arg(serve.get_program()).args(serve.get_args()).env_clear();
    limited.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(desk.home.path("work"));
    Agent(Session::open(limited))
}

#[test]
fn a_call_that_a_full_store_cannot_note_is_not_made() {
    let desk = Desk::with_config(&json!({}), &json!({ "durable": true }));
    let mut agent = agent_on_full_disk(&desk);
    // The second call has arguments that do not fit any more.
    let answer = agent.execute(
        r#"
        import hashlib
        noise = "".join(hashlib.sha256(b"%d" % i).hexdigest() for i in range(100_000))
        print(await mcp__files__read(path="/a"))
        for call in (mcp__files__stuck, mcp__files__delete):
            try:
                await call(path=noise)
            except ToolError as error:
                print(":".join(str(error).split(":")[:2]))
        "#,
    );
    assert_eq!(
        answer.text,
        "[Script executed successfully]\nread\n\
         'mcp__files__stuck' failed: it was not called, because it cannot be written to the journal \
         first\n\
         'mcp__files__delete' failed: it was not called, because nobody can be asked to approve it\n"
    );
    assert_eq!((desk.received.calls("stuck"), desk.deletions()), (0, 0));
}

#[test]
fn a_run_that_a_full_store_cannot_keep_has_no_effects() {
    let desk = Desk::with_config(&json!({}), &json!({ "durable": true }));
    let mut agent = agent_on_full_disk(&desk);
    let noise: String = (0..600_000_u64).map(|it| format!("{:08x}", it.pow(3) / 7)).collect();
    let code = format!(
        "print(await mcp__files__read(path='/a'))\n\
         print(await mcp__files__stuck(path='/a'))\n# {noise}"
    );
    let answer = agent.0.call_tool("execute_program", json!({ "code": code }));
    assert!(answer.is_error, "{:.300}", answer.text);
    let refusal = "'mcp__files__stuck' failed: it was not called, because it cannot be written";
    assert!(answer.text.contains(refusal), "{:.300}", answer.text);
    assert_eq!((desk.received.calls("read"), desk.received.calls("stuck")), (1, 0));
    // Other runs are stored.
    assert_eq!(agent.execute(READ_ONE).text, READ);
}

/// The answer can be read, but not the intent be written.
#[test]
fn an_approved_call_is_not_made_once_the_store_cannot_be_written() {
    let desk = Desk::new(&json!({}));
    let mut agent = agent_after(&desk, "true");
    let call = agent.start(
        r#"
        print(await mcp__files__read(path="/a"))
        print(await mcp__files__delete(path="/a"))
        "#,
    );
    let item = desk.open_item();
    let pid = agent.0.client().pid().to_string();
    let limited = Command::new("prlimit").args(["--fsize=0", "--pid", &pid]).status();
    assert!(limited.expect("prlimit of util-linux").success());
    desk.approve(&item);
    let answer = agent.0.finish_call(call);
    let refusal = "'mcp__files__delete' failed: it was not called, because it cannot be written to the \
                   journal first: ";
    assert!(answer.is_error && answer.text.contains(refusal), "{}", answer.text);
    assert_eq!((desk.received.calls("read"), desk.deletions()), (1, 0));
}

#[test]
fn a_journal_that_is_too_large_says_which_setting_it_exceeds() {
    let settings = json!({ "durable": true, "store": { "journal_mb": 1 } });
    let desk = Desk::with_config(&json!({}), &settings);
    let mut agent = desk.agent();
    let answer = agent.execute(
        r#"
        import hashlib
        noise = "".join(hashlib.sha256(b"%d" % i).hexdigest() for i in range(100_000))
        print(await mcp__files__stuck(path=noise))
        "#,
    );
    let refusal = "'mcp__files__stuck' failed: it was not called, because it cannot be written to the \
                   journal first: the journals of all runs would take more than 1 MB \
                   (`store.journal_mb`)";
    assert!(answer.is_error && answer.text.contains(refusal), "{:.500}", answer.text);
    assert_eq!(desk.received.calls("stuck"), 0);
    assert_eq!(agent.execute(READ_ONE).text, READ);
}
