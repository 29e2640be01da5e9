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
    let seen = browser.get("/page/runs");
    // It is replaced by an empty one, which is said once.
    assert!(seen.status == 503 || seen.text.contains("Nothing ran yet"), "{}", seen.text);
    if seen.status == 503 {
        assert!(seen.text.contains("damaged"), "{}", seen.text);
    }
    let seen = browser.get("/page/runs");
    assert!(seen.text.contains("Nothing ran yet"), "{}", seen.text);
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
