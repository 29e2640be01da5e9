//! The inbox: questions with their forms, and what becomes of answers.

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::sign_in::{gateway, run_as, sign_in};
use super::{Background, PageBrowser, PageProcess, files_server, recorded_home};
use crate::support::{Home, TIMEOUT, finish};
use crate::users::personal_token;

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
    // The browser is at the address of the form now: reading it leads to the inbox.
    let seen = browser.get(&format!("/page/inbox/{first}"));
    assert_eq!(seen.status, 303);
    assert_eq!(seen.location, format!("/page/inbox#question-{first}"));

    // An emptied field is not the arguments that the program wrote.
    let emptied = format!("check={check}&decision=once&arguments=");
    let seen = browser.post(&format!("/page/inbox/{first}"), &emptied);
    assert_eq!(seen.status, 409, "{}", seen.text);
    assert!(seen.text.contains("the arguments are not JSON"), "{}", seen.text);

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

    // So does one that could not be used anyway, and what was typed is not lost.
    let late = format!("check={check}&decision=once&arguments=%7Btyped+late&reason=perhaps");
    let late = browser.post(&format!("/page/inbox/{first}"), &late);
    assert_eq!(late.status, 409);
    assert!(late.text.contains("was answered before: approved with other"), "{}", late.text);
    assert!(late.text.contains("{typed late") && late.text.contains("perhaps"), "{}", late.text);

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
fn later_calls_are_like_the_call_that_was_approved() {
    let home = home(&asking());
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let code = "print(await mcp__files__delete(path='/etc', count=1))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    let item = waiting(&mut browser, "");
    let target = format!("/page/inbox/{item}");
    // An argument that is to stay the same and was removed would be any: nothing is approved.
    let removed = "arguments=%7B%22path%22%3A%22%2Ftmp%2Fx%22%7D";
    let body = format!(
        "check={check}&decision=tool&length=1h&same=path&same=count&reason=perhaps&{removed}"
    );
    let seen = browser.post(&target, &body);
    assert_eq!(seen.status, 409, "{}", seen.text);
    // Everything that was typed and chosen is given back.
    assert!(seen.text.contains("have no 'count' any more") || seen.text.contains("&#39;count"));
    assert!(seen.text.contains("/tmp/x") && seen.text.contains("value=\"perhaps\""));
    assert!(seen.text.contains("<option value=\"1h\" selected>"), "{}", seen.text);
    assert!(seen.text.contains("<details open>"), "{}", seen.text);
    let unticked = browser.post(&target, &body.replace("same=path&", ""));
    let path_box = "name=\"same\" value=\"path\">";
    assert!(unticked.text.contains(path_box) && !seen.text.contains(path_box));

    let edited = "arguments=%7B%22path%22%3A%22%2Ftmp%2Fx%22%2C%22count%22%3A1%7D";
    let body = format!("check={check}&decision=tool&length=1h&same=path&{edited}");
    assert_eq!(browser.post(&target, &body).status, 303);
    assert_eq!(program.ended().stdout, "deleted\n");
    let grants = finish(home.onecall_with_config(&["approvals", "grants", "--json"])).stdout;
    assert!(grants.contains("/tmp/x") && !grants.contains("/etc"), "{grants}");

    // The call that was approved needs no further approval, and the one of the program does.
    let code = "print(await mcp__files__delete(path='/tmp/x'))";
    assert_eq!(finish(home.onecall_with_config(&["run", "-e", code])).stdout, "deleted\n");
    let code = "print(await mcp__files__delete(path='/etc'))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    let item = waiting(&mut browser, &item);
    let body = format!("check={check}&decision=deny");
    assert_eq!(browser.post(&format!("/page/inbox/{item}"), &body).status, 303);
    assert_eq!(program.ended().stdout, "");
}

#[test]
fn a_form_of_another_session_is_given_back() {
    let home = home(&asking());
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let code = "print(await mcp__files__delete(path='a'))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    let item = waiting(&mut browser, "");
    let arguments = "arguments=%7B%22path%22%3A%22typed%22%7D&reason=perhaps";
    let target = format!("/page/inbox/{item}");
    let seen = browser.post(&target, &format!("check=other&decision=once&{arguments}"));
    assert_eq!(seen.status, 403, "{}", seen.text);
    assert!(seen.text.contains("belongs to another session"), "{}", seen.text);
    assert!(seen.text.contains("typed") && seen.text.contains("value=\"perhaps\""));
    // The form that was given back belongs to this session.
    assert!(seen.text.contains(&check), "{}", seen.text);
    let tool = "/page/tools/mcp__files__read";
    let seen = browser.post(tool, "check=other&arg.path=typed&arg.count=2");
    assert_eq!(seen.status, 403, "{}", seen.text);
    assert!(seen.text.contains(">typed</textarea>") && seen.text.contains(&check));
    assert_eq!(browser.post("/page/servers/files/start", "check=other").status, 403);
    let body = format!("check={check}&decision=once&{arguments}");
    assert_eq!(browser.post(&target, &body).status, 303);
    assert_eq!(program.ended().stdout, "deleted\n");
    let received = std::fs::read_to_string(home.path("received")).unwrap();
    assert!(received.contains("\"path\":\"typed\""), "{received}");
    assert!(!received.contains("\"name\":\"read\""), "{received}");
}

#[test]
fn addresses_of_forms_lead_to_their_pages() {
    let home = home(&asking());
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for (target, location) in [
        ("/page/inbox/1m0.1", "/page/inbox#question-1m0.1"),
        ("/page/servers/files/start", "/page/servers#server-files"),
        ("/page/runs/1m0/replay", "/page/runs/1m0"),
        ("/page/audit/verify", "/page/audit"),
    ] {
        let seen = browser.get(target);
        assert_eq!((seen.status, seen.location.as_str()), (303, location), "{target}");
    }
}

#[test]
fn many_questions_with_long_arguments_stay_small() {
    let home = home(&asking());
    let file = home.path("home/state/onecall/onecall.db");
    let store = onecall_store::open_durable(file, 256);
    for number in 0..40 {
        let text =
            format!("{number} {}", "<long> ".repeat(if number % 2 == 0 { 9_000 } else { 30 }));
        super::injection::hostile_question(&store, &format!("1m1000000{number:05}"), &text);
    }
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let seen = browser.get("/page/inbox");
    assert!(seen.status == 200 && seen.text.len() < 100_000, "{}", seen.text.len());
    assert_eq!(seen.text.matches("data-question=").count(), 40);
    // A question that is too long for the list is answered on a page of its own.
    let item = "1m100000000000.1";
    let link = format!("/page/inbox?question={item}");
    assert!(seen.text.contains(&format!("href=\"{link}\"")), "{}", seen.text);
    let seen = browser.get(&link);
    assert!(seen.status == 200 && seen.text.len() < 100_000, "{}", seen.text.len());
    assert!(seen.text.contains("value=\"once\""), "{}", seen.text);
    assert!(seen.text.contains(&format!("/page/inbox/{item}/arguments.txt")), "{}", seen.text);
    let whole = browser.get(&format!("/page/inbox/{item}/arguments.txt"));
    assert!(whole.text.len() > 120_000 && whole.status == 200, "{}", whole.text.len());
    let run = browser.get("/page/runs/1m100000000001");
    assert!(run.status == 200 && run.text.len() < 100_000, "{}", run.text.len());
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

#[test]
fn the_questions_of_other_users_are_not_there() {
    let home = Home::new();
    let server = files_server(&home.text_path("received"));
    let gateway = gateway(&json!({}), &json!({ "servers": [server], "approvals": asking() }));
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    let root = personal_token(&gateway, "root", &["admin"]);
    let [mut own, mut other, mut admin] =
        [&anna, &ben, &root].map(|token| sign_in(&gateway, token).0);
    std::thread::scope(|scope| {
        let code = "print(await mcp__files__delete(path='of anna'))";
        let program = scope.spawn(|| run_as(&gateway, &anna, code));
        let item = waiting(&mut own, "");
        let file = format!("/page/inbox/{item}/arguments.txt");
        for browser in [&mut own, &mut admin] {
            let seen = browser.get(&file);
            assert!(seen.status == 200 && seen.text.contains("of anna"), "{}", seen.text);
            assert!(browser.get("/page/inbox").text.contains(&item));
        }
        assert_eq!(other.get(&file).status, 404);
        let seen = other.get("/page/inbox");
        assert!(!seen.text.contains(&item) && seen.text.contains("Nothing waits"), "{}", seen.text);
        assert!(seen.text.contains("<title>Inbox · onecall</title>"), "{}", seen.text);
        let target = format!("/page/inbox/{item}");
        let answer = |browser: &mut PageBrowser| {
            let body = format!("check={}&decision=once", browser.check());
            browser.post(&target, &body).status
        };
        assert_eq!(answer(&mut other), 404);
        assert_eq!(answer(&mut own), 303);
        program.join().expect("the program ends");
        let link = format!("answered-{item}");
        let answered = [&mut own, &mut admin, &mut other]
            .map(|browser| browser.get("/page/inbox").text.contains(&link));
        assert_eq!(answered, [true, true, false]);
    });
}
