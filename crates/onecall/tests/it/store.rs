//! The file in which things are remembered never stands in a program's way.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{CommandResult, Gateway, Home, TIMEOUT, finish, fixture};

fn home(store: Value) -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])], "store": store }))
}

fn run(home: &Home) -> CommandResult {
    let ended = home.run("print(await mcp__fixture__add(a=1, b=2))");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
    ended
}

fn runs(home: &Home) -> usize {
    let ended = finish(home.onecall_with_config(&["runs", "--json", "--limit", "1000"]));
    let runs: Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    runs.as_array().expect("a list").len()
}

/// The warnings in what was said.
fn warnings(ended: &CommandResult) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.contains("WARN")).collect()
}

#[test]
fn it_is_where_the_configuration_says() {
    let home = Home::new();
    let path = home.path("elsewhere/deep/runs.db");
    let config = json!({ "servers": [fixture("fixture", &[])], "store": { "path": path } });
    home.write("config.json", config.to_string());
    run(&home);
    assert_eq!(runs(&home), 1);
    assert!(path.exists());
    assert!(!home.path("home/state/onecall/onecall.db").exists());
}

#[test]
fn a_damaged_file_is_told_once_and_begun_anew() {
    let home = home(json!({}));
    let file = home.write("home/state/onecall/onecall.db", "nothing that makes sense");
    let ended = run(&home);
    let messages = warnings(&ended);
    assert!(
        messages.len() == 1 && messages[0].contains("was damaged, or not a store"),
        "{}",
        ended.stderr
    );
    assert_eq!(warnings(&run(&home)), [""; 0]);
    assert_eq!(runs(&home), 2);
    let is_aside = |name: &str| name.starts_with("onecall.db.damaged-");
    let aside = names(file.parent().unwrap()).into_iter().find(|name| is_aside(name)).unwrap();
    let kept = fs::read_to_string(file.with_file_name(aside)).unwrap();
    assert_eq!(kept, "nothing that makes sense");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_that_is_damaged_while_it_is_used_is_begun_anew() {
    let mut gateway = Gateway::in_home(home(json!({})));
    let file = gateway.home.path("home/state/onecall/onecall.db");
    gateway.prints("print(1)");
    assert!(wait_until(TIMEOUT, || runs(&gateway.home) == 1));
    let is_of_store = |name: &String| name.starts_with("onecall.db");
    for name in names(file.parent().unwrap()).into_iter().filter(is_of_store) {
        fs::write(file.with_file_name(name), [0xa5; 100_000]).unwrap();
    }
    for _ in 0..3 {
        gateway.prints("print(2)");
    }
    // Before anything else opens the store, which would set the file aside, too.
    gateway.wait_for_log(&["was damaged, or not a store"]);
    // The first of them may be what it was noticed by.
    assert!(wait_until(TIMEOUT, || runs(&gateway.home) >= 2), "{}", runs(&gateway.home));
}

#[test]
fn a_deleted_file_is_begun_anew() {
    let mut gateway = Gateway::in_home(home(json!({})));
    gateway.prints("print(1)");
    assert!(wait_until(TIMEOUT, || runs(&gateway.home) == 1));
    fs::remove_dir_all(gateway.home.path("home/state/onecall")).unwrap();
    gateway.prints("print(2)");
    assert!(wait_until(TIMEOUT, || runs(&gateway.home) == 1));
}

#[test]
fn a_place_that_cannot_be_had_is_told_once() {
    let home = home(json!({}));
    home.write("home/state/onecall", "a file in the place of a folder");
    let mut gateway = Gateway::in_home(home);
    for _ in 0..3 {
        gateway.prints("print(await mcp__fixture__add(a=1, b=2))");
    }
    gateway.wait_for_log(&["nothing is stored", "cannot be used"]);
    gateway.session.client().close_stdin();
    assert!(gateway.session.client().wait(TIMEOUT).is_some());
    let said = gateway.session.client().stderr();
    assert_eq!(said.matches("nothing is stored").count(), 1, "{said}");
}

#[test]
fn several_processes_share_it() {
    let shared = Home::new();
    let config = json!({
        "servers": [fixture("fixture", &[])],
        "store": { "path": shared.path("runs.db") },
    });
    shared.write("config.json", config.to_string());
    let mut gateways: Vec<_> = (0..3).map(|_| Gateway::with_config(&config)).collect();
    for _ in 0..10 {
        let started: Vec<_> =
            gateways.iter_mut().map(|gateway| gateway.start("print(1)")).collect();
        for (gateway, call) in gateways.iter_mut().zip(started) {
            assert!(!gateway.session.finish_call(call).is_error);
        }
    }
    assert!(wait_until(TIMEOUT, || runs(&shared) == 30), "{}", runs(&shared));
}
