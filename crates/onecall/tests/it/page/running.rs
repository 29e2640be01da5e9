//! Programs that run now, on the page of the gateway that runs them.

use std::thread;

use serde_json::json;
use testkit::process::wait_until;

use super::files_server;
use super::sign_in::{gateway, listed, run_as, sign_in};
use crate::support::{Home, TIMEOUT};
use crate::users::personal_token;

/// A program that runs until a file is in the workspace.
pub const WAITING: &str =
    "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\nprint('went')\n";

/// What the row of a run has that runs.
pub const RUNNING: &str = "<span class=\"tag wait\">running</span>";

#[test]
fn a_program_is_listed_while_it_runs() {
    let home = Home::new();
    home.write("data/orders.csv", "region,amount\n");
    let mut server = files_server(&home.text_path("received"));
    server["env"] = json!({ "KEY": "k3y-of-the-server" });
    let workspace = json!({ "path": home.text_path("data"), "mode": "read-only" });
    let gateway = gateway(&json!({}), &json!({ "servers": [server], "workspace": workspace }));
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    let root = personal_token(&gateway, "root", &["admin"]);
    let (mut own, _) = sign_in(&gateway, &anna);
    let (mut other, _) = sign_in(&gateway, &ben);
    let (mut admin, _) = sign_in(&gateway, &root);
    let code = format!("# k3y-of-the-server <b>\n{WAITING}");
    let (run, rows, pages) = thread::scope(|scope| {
        let program = scope.spawn(|| run_as(&gateway, &anna, &code));
        wait_until(TIMEOUT, || !listed(&mut own).is_empty());
        let run = listed(&mut own).pop().unwrap_or_default();
        let rows = ["", "?outcome=running", "?text=exists", "?user=anna", "?outcome=waiting"];
        let rows = rows.map(|query| {
            let target = format!("/page/runs{query}");
            [&mut own, &mut other, &mut admin].map(|browser| browser.get(&target).text)
        });
        let target = format!("/page/runs/{run}");
        let pages = [&mut own, &mut other, &mut admin].map(|browser| browser.get(&target));
        home.write("data/go", "");
        program.join().expect("the program ends");
        (run, rows, pages)
    });
    let link = format!("href=\"/page/runs/{run}\"");
    for [own, other, admin] in &rows[..4] {
        assert!(own.contains(RUNNING) && own.contains(&link), "{own}");
        assert!(!other.contains(RUNNING) && !other.contains(&run), "{other}");
        assert!(admin.contains(&link) && admin.contains("<td>anna</td>"), "{admin}");
    }
    assert!(rows[4].iter().all(|text| !text.contains(&link)), "{:?}", rows[4]);
    let [own_page, other_page, admin_page] = pages;
    for page in [&own_page, &admin_page] {
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(page.text.contains(RUNNING) && page.text.contains("<dd>anna</dd>"), "{page:?}");
        assert!(page.text.contains("# [redacted] &lt;b&gt;"), "{page:?}");
    }
    assert_eq!(other_page.status, 404, "{}", other_page.text);
    // Afterwards it is a recorded run with the same identifier.
    assert!(wait_until(TIMEOUT, || {
        let text = own.get("/page/runs").text;
        text.contains(&link) && text.contains("<span class=\"tag good\">ok</span>")
    }));
    assert_eq!(listed(&mut own), [run.as_str()]);
    assert!(own.get(&format!("/page/runs/{run}")).text.contains("went"));
    assert!(!own.get("/page/runs?outcome=running").text.contains(&link));
}

#[test]
fn a_program_that_is_not_recorded_is_not_listed() {
    let home = Home::new();
    home.write("data/orders.csv", "region,amount\n");
    let workspace = json!({ "path": home.text_path("data"), "mode": "read-only" });
    let gateway = gateway(&json!({}), &json!({ "records": "off", "workspace": workspace }));
    let root = personal_token(&gateway, "root", &["admin"]);
    let (mut admin, _) = sign_in(&gateway, &root);
    let text = thread::scope(|scope| {
        let program = scope.spawn(|| run_as(&gateway, &root, WAITING));
        let is_running = wait_until(TIMEOUT, || {
            super::replays::metric(&gateway, &root, "onecall_programs_running") == "1"
        });
        let text = admin.get("/page/runs").text;
        home.write("data/go", "");
        program.join().expect("the program ends");
        assert!(is_running);
        text
    });
    assert!(!text.contains(RUNNING) && text.contains("Nothing ran yet"), "{text}");
}
