//! The inbox: questions with their forms, and what becomes of answers.

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{Background, PageBrowser, PageProcess, recorded_home};
use crate::support::{Home, TIMEOUT, finish};

const PROGRAM: &str = "\
for name in ['a', 'b']:
    print(await mcp__files__delete(path=name))
";

fn home(approvals: &Value) -> Home {
    recorded_home(&json!({ "approvals": approvals }))
}

fn asking() -> Value {
    json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 })
}

/// The id of the question that waits, which is another one than `before`.
fn waiting(browser: &mut PageBrowser, before: &str) -> String {
    let mut found = String::new();
    wait_until(TIMEOUT, || {
        let seen = browser.get("/page/inbox");
        let item = seen.text.split("data-question=\"").nth(1);
        found = item.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
        !found.is_empty() && found != before
    });
    assert!(!found.is_empty(), "nothing waits");
    found
}

#[test]
fn a_program_goes_on_when_its_calls_are_approved() {
    let home = home(&asking());
    let page = PageProcess::start(&home);
    let (mut browser, check) = {
        let mut browser = page.browser();
        let check = browser.check();
        (browser, check)
    };
    let program = Background::start(home.onecall_with_config(&["run", "-e", PROGRAM]));
    let first = waiting(&mut browser, "");
    let seen = browser.get("/page/inbox");
    assert!(seen.text.contains("May <code>mcp__files__delete</code> be called?"), "{}", seen.text);
    assert!(seen.text.contains("approvals.ask: mcp__files__delete"), "{}", seen.text);
    assert!(seen.text.contains("class=\"waits\""), "the line is not marked: {}", seen.text);
    assert!(seen.text.contains("<title>(1) Inbox · onecall</title>"), "{}", seen.text);

    // What was typed is not lost when it cannot be used.
    let body = format!("check={check}&decision=once&arguments=%7Bpath&reason=perhaps");
    let seen = browser.post(&format!("/page/inbox/{first}"), &body);
    assert_eq!(seen.status, 409);
    assert!(seen.text.contains("the arguments are not JSON"), "{}", seen.text);
    assert!(seen.text.contains(">{path</textarea>") && seen.text.contains("value=\"perhaps\""));

    let arguments = "%7B%22path%22%3A%22other%22%7D";
    let body = format!("check={check}&decision=once&arguments={arguments}");
    assert_eq!(browser.post(&format!("/page/inbox/{first}"), &body).status, 303);
    // The first answer counts.
    let again =
        browser.post(&format!("/page/inbox/{first}"), &format!("check={check}&decision=deny"));
    assert_eq!(again.status, 409);
    assert!(
        again.text.contains("was answered before: approved with other arguments"),
        "{}",
        again.text
    );

    let second = waiting(&mut browser, &first);
    let body = format!("check={check}&decision=deny&reason=keep+%3Cit%3E");
    assert_eq!(browser.post(&format!("/page/inbox/{second}"), &body).status, 303);
    let ended = program.ended();
    assert!(ended.stdout.starts_with("deleted\n"), "{ended:?}");
    assert!(ended.stderr.contains("keep <it>"), "{ended:?}");
    let received = std::fs::read_to_string(home.path("received")).unwrap();
    let calls = received.matches("\"name\":\"delete\"").count();
    assert_eq!((calls, received.matches("\"path\":\"other\"").count()), (1, 1), "{received}");
    let seen = browser.get("/page/inbox");
    assert!(seen.text.contains("Nothing waits for you"), "{}", seen.text);
    assert!(seen.text.contains("denied (keep &lt;it&gt;) by"), "{}", seen.text);
    // The approval is noted as one of the page.
    let listed = finish(home.onecall_with_config(&["approvals", "list", "--all", "--json"]));
    assert_eq!(listed.stdout.matches("\"way\": \"page\"").count(), 2, "{}", listed.stdout);
}

#[test]
fn an_approval_can_cover_later_calls() {
    let home = home(&asking());
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let program = Background::start(home.onecall_with_config(&["run", "-e", PROGRAM]));
    let item = waiting(&mut browser, "");
    let body = format!("check={check}&decision=run");
    assert_eq!(browser.post(&format!("/page/inbox/{item}"), &body).status, 303);
    assert_eq!(program.ended().stdout, "deleted\ndeleted\n");

    let program = Background::start(home.onecall_with_config(&["run", "-e", PROGRAM]));
    let item = waiting(&mut browser, "");
    let body = format!("check={check}&decision=tool&length=1h");
    assert_eq!(browser.post(&format!("/page/inbox/{item}"), &body).status, 303);
    assert_eq!(program.ended().stdout, "deleted\ndeleted\n");
    let grants = finish(home.onecall_with_config(&["approvals", "grants", "--json"])).stdout;
    assert_eq!(grants.matches("mcp__files__delete").count(), 1, "{grants}");
}

#[test]
fn the_page_answers_only_where_it_may() {
    let mut approvals = asking();
    approvals["ways"] = json!(["cli"]);
    let home = home(&approvals);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let program = Background::start(home.onecall_with_config(&[
        "run",
        "-e",
        "print(await mcp__files__delete(path='a'))",
    ]));
    let item = waiting(&mut browser, "");
    assert!(browser.get("/page/inbox").text.contains("does not accept answers on the page"));
    let seen =
        browser.post(&format!("/page/inbox/{item}"), &format!("check={check}&decision=once"));
    assert_eq!(seen.status, 409, "{}", seen.text);
    let approved = finish(home.onecall_with_config(&["approvals", "approve", "--all"]));
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(program.ended().stdout, "deleted\n");
    assert_eq!(
        browser.post("/page/inbox/nothing.1", &format!("check={check}&decision=once")).status,
        404
    );
}
