//! A store that is empty, damaged, of a newer version or in use: a page says so.

use std::time::Duration;

use serde_json::json;

use super::{PageProcess, recorded_home, run};
use crate::support::Home;

pub const STORE: &str = "home/state/onecall/onecall.db";

fn sqlite(home: &Home) -> rusqlite::Connection {
    rusqlite::Connection::open(home.path(STORE)).expect("the store")
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let home = recorded_home(&json!({}));
    run(&home, "print(1)");
    sqlite(&home).pragma_update(None, "user_version", 99).expect("a version");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for part in ["", "runs", "runs/1m0000000"] {
        let seen = browser.get(&format!("/page/{part}"));
        assert_eq!(seen.status, 503, "{part}: {}", seen.text);
        assert!(seen.text.contains("has version 99"), "{part}: {}", seen.text);
        assert!(seen.text.contains("Nothing was changed"), "{part}: {}", seen.text);
    }
}

#[test]
fn a_damaged_store_says_so() {
    let home = recorded_home(&json!({}));
    home.write(STORE, "nothing that makes sense");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    // It is replaced by an empty one. Every page that would be empty for that reason says so, and where it is.
    for target in ["/page/runs", "/page/", "/page/runs"] {
        let seen = browser.get(target);
        assert_eq!(seen.status, 200, "{}", seen.text);
        assert!(seen.text.contains("The store was damaged"), "{}", seen.text);
        assert!(seen.text.contains("onecall.db.damaged-"), "{}", seen.text);
    }
    let folder = std::fs::read_dir(home.path("home/state/onecall")).expect("a folder");
    let aside = folder.map(|entry| entry.expect("an entry").path());
    let mut aside = aside.filter(|path| path.to_string_lossy().contains("onecall.db.damaged-"));
    let aside = aside.next().expect("a file that was set aside");
    assert_eq!(std::fs::read_to_string(&aside).expect("the file"), "nothing that makes sense");
    std::fs::remove_file(aside).expect("removed");
    let seen = browser.get("/page/runs");
    assert!(!seen.text.contains("damaged") && seen.text.contains("Nothing ran yet"));
}

#[test]
fn a_form_that_cannot_be_stored_is_given_back() {
    let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
    let home = recorded_home(&json!({ "approvals": approvals }));
    let store = onecall_store::open_durable(home.path(STORE), 256);
    super::injection::hostile_question(&store, "1m100000000000", "path");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let connection = sqlite(&home);
    connection.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let target = "/page/inbox/1m100000000000.1";
    let body = format!(
        "check={check}&decision=once&arguments=%7B%22path%22%3A%22typed%22%7D&reason=perhaps"
    );
    let seen = browser.post(target, &body);
    assert_eq!(seen.status, 503, "{}", seen.text);
    assert!(
        seen.text.contains("Nothing was done") && seen.text.contains("locked"),
        "{}",
        seen.text
    );
    assert!(seen.text.contains("typed") && seen.text.contains("value=\"perhaps\""));
    connection.execute_batch("ROLLBACK").expect("the end");
    // The same form is an answer now.
    assert_eq!(browser.post(target, &body).status, 303);
}

#[test]
fn a_store_that_another_process_holds_is_waited_for_or_named() {
    let home = recorded_home(&json!({}));
    let id = run(&home, "print(1)");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let connection = sqlite(&home);
    connection.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    // Reading needs no lock.
    let seen = browser.get("/page/runs");
    assert!(seen.status == 200 && seen.text.contains(&id), "{}", seen.text);
    connection.execute_batch("ROLLBACK").expect("the end");
}

#[test]
fn a_store_that_cannot_be_read_says_so() {
    let home = recorded_home(&json!({}));
    let id = run(&home, "print(1)");
    let connection = sqlite(&home);
    connection.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    // Without a log beside the file, one process alone can use it.
    connection.pragma_update(None, "journal_mode", "DELETE").expect("a journal");
    connection.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for part in ["runs", "inbox"] {
        let seen = browser.get(&format!("/page/{part}"));
        assert_eq!(seen.status, 503, "{part}: {}", seen.text);
        assert!(seen.text.contains("The store cannot be used"), "{part}: {}", seen.text);
        assert!(seen.text.contains("locked") && seen.text.contains("Try again"), "{}", seen.text);
    }
    connection.execute_batch("ROLLBACK").expect("the end");
    assert!(browser.get("/page/runs").text.contains(&id));
}
