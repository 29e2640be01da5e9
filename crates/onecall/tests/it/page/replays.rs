//! Replays on the page of a gateway: whose runs, under which limits, and what they may not do.

use std::thread;

use serde_json::json;
use testkit::process::wait_until;

use super::running::{RUNNING, WAITING};
use super::sign_in::{gateway, listed, run_as, sign_in};
use super::{PageBrowser, Seen, files_server};
use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::Request;
use crate::support::{Home, TIMEOUT};
use crate::users::{bearer, personal_token};

const SAME: &str = "did the same as in the recorded run";
const DIFFERENT: &str = "did something else than in the recorded run";

/// Waits until a browser sees so many runs, and returns the newest.
fn newest_of(browser: &mut PageBrowser, count: usize) -> String {
    assert!(wait_until(TIMEOUT, || {
        listed(browser).len() == count && !browser.get("/page/runs").text.contains(RUNNING)
    }));
    listed(browser).swap_remove(0)
}

fn replay(browser: &mut PageBrowser, id: &str) -> Seen {
    let check = browser.check();
    browser.post(&format!("/page/runs/{id}/replay"), &format!("check={check}"))
}

#[test]
fn users_replay_the_runs_that_they_see() {
    let home = Home::new();
    let server = files_server(&home.text_path("received"));
    let gateway = gateway(&json!({}), &json!({ "servers": [server] }));
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    let root = personal_token(&gateway, "root", &["admin"]);
    let code = "import time\nprint(await mcp__files__read(path='x'), time.time())";
    let [(mut own, of_anna), (mut other, of_ben)] = [&anna, &ben].map(|token| {
        run_as(&gateway, token, code);
        let (mut browser, _) = sign_in(&gateway, token);
        let run = newest_of(&mut browser, 1);
        (browser, run)
    });
    let (mut admin, _) = sign_in(&gateway, &root);
    let calls =
        || std::fs::read_to_string(home.path("received")).unwrap().matches("tools/call").count();
    assert_eq!(calls(), 2);
    assert!(own.get(&format!("/page/runs/{of_anna}")).text.contains(">Replay</button>"));
    for (browser, run) in [(&mut own, &of_anna), (&mut other, &of_ben), (&mut admin, &of_ben)] {
        let seen = replay(browser, run);
        assert!(seen.status == 200 && seen.text.contains(SAME), "{}", seen.text);
    }
    for (browser, run) in [(&mut own, &of_ben), (&mut other, &of_anna)] {
        let (theirs, unknown) = (replay(browser, run), replay(browser, "1m0000000"));
        assert_eq!((theirs.status, unknown.status), (404, 404), "{}", theirs.text);
        assert_eq!(theirs.text, unknown.text);
    }
    // The records have answered, and replays are not recorded.
    assert_eq!((calls(), listed(&mut admin).len()), (2, 2));
}

#[test]
fn a_run_that_cannot_be_replayed_says_why() {
    let gateway = gateway(&json!({}), &json!({ "records": "metadata" }));
    let anna = personal_token(&gateway, "anna", &[]);
    run_as(&gateway, &anna, "print(1)");
    let (mut browser, _) = sign_in(&gateway, &anna);
    let run = newest_of(&mut browser, 1);
    let seen = browser.get(&format!("/page/runs/{run}"));
    assert!(!seen.text.contains(">Replay</button>"), "{}", seen.text);
    assert!(seen.text.contains("so it cannot be replayed"), "{}", seen.text);
    let seen = replay(&mut browser, &run);
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("with `records: full` in the configuration"), "{}", seen.text);
}

/// A home with a folder for a workspace, and the settings of a gateway that uses it.
fn workspace(execution: &serde_json::Value) -> (Home, serde_json::Value) {
    let home = Home::new();
    home.write("data/orders.csv", "region,amount\n");
    let workspace = json!({ "path": home.text_path("data"), "mode": "read-write" });
    (home, json!({ "workspace": workspace, "execution": execution }))
}

/// A number of the metrics of a gateway, as its administrator sees it.
pub fn metric(gateway: &HttpGateway, admin: &str, name: &str) -> String {
    let request = Request::new("GET", "/metrics").header("Authorization", &bearer(admin));
    let metrics = request.send(gateway.address).text();
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.expect("the metric").to_owned()
}

#[test]
fn a_replay_waits_its_turn_like_a_program_of_its_user() {
    let (home, settings) = workspace(&json!({}));
    let gateway = gateway(&json!({ "max_programs": 1 }), &settings);
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    let root = personal_token(&gateway, "root", &["admin"]);
    let [(own, of_anna), (mut other, of_ben)] = [&anna, &ben].map(|token| {
        run_as(&gateway, token, "print('fine')");
        let (mut browser, _) = sign_in(&gateway, token);
        let run = newest_of(&mut browser, 1);
        (browser, run)
    });
    let (mut watching, mut replaying) = (own.clone(), own);
    let check = replaying.check();
    thread::scope(|scope| {
        let program = scope.spawn(|| run_as(&gateway, &anna, WAITING));
        let is_running = wait_until(TIMEOUT, || {
            watching.get("/page/runs?outcome=running").text.contains(RUNNING)
        });
        let address = format!("/page/runs/{of_anna}/replay");
        let replayed = scope.spawn(move || replaying.post(&address, &format!("check={check}")));
        let waits =
            wait_until(TIMEOUT, || metric(&gateway, &root, "onecall_programs_waiting") == "1");
        // Nobody else waits.
        let of_other = replay(&mut other, &of_ben);
        let still_waits = !replayed.is_finished();
        home.write("data/go", "");
        program.join().expect("the program ends");
        let seen = replayed.join().expect("the replay ends");
        assert!(is_running && waits && still_waits);
        assert!(of_other.text.contains(SAME), "{}", of_other.text);
        assert!(seen.status == 200 && seen.text.contains(SAME), "{}", seen.text);
    });
}

#[test]
fn a_replay_changes_nothing_and_ends() {
    let (home, settings) = workspace(&json!({ "timeout_seconds": 5 }));
    let gateway = gateway(&json!({}), &settings);
    let anna = personal_token(&gateway, "anna", &[]);
    let (mut browser, _) = sign_in(&gateway, &anna);
    let writing =
        "import os\nif os.path.exists('go'):\n    open('written', 'w').write('x')\nprint('done')";
    let endless = "import os\nwhile os.path.exists('go'):\n    pass\nprint('done')";
    let runs: Vec<String> = [writing, endless]
        .into_iter()
        .zip(1..)
        .map(|(code, count)| {
            run_as(&gateway, &anna, code);
            newest_of(&mut browser, count)
        })
        .collect();
    // The programs find another workspace, and do something else.
    home.write("data/go", "");
    for (run, error) in runs.iter().zip(["Error", "Execution exceeded 5s limit"]) {
        let seen = replay(&mut browser, run);
        assert_eq!(seen.status, 200, "{}", seen.text);
        assert!(seen.text.contains(DIFFERENT) && seen.text.contains(error), "{}", seen.text);
    }
    assert!(!home.path("data/written").exists());
}
