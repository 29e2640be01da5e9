//! What a run page says about calls that needed an approval: who has decided, and with which arguments.

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{Background, PageBrowser, PageProcess, recorded_home};
use crate::support::{Home, TIMEOUT, finish};

const RULE: &str = "because of approvals.ask: mcp__files__delete";

/// Calls that are asked about one after the other, each on its own line.
const PROGRAM: &str = "\
print(await mcp__files__delete(path='a'))
print(await mcp__files__delete(path='b'))
print(await mcp__files__delete(path='c'))
";

/// The id of the question that waits, which is another one than `before`.
fn waiting(browser: &mut PageBrowser, before: &str) -> String {
    let mut found = String::new();
    wait_until(TIMEOUT, || {
        let seen = browser.get("/page/inbox");
        let item = seen.text.split("data-question=\"").nth(1);
        found = item.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
        !found.is_empty() && found != before
    });
    found
}

/// Runs the program, and approves its first call with other arguments and the others for the run. Returns the run.
fn run_with_answers(home: &Home, browser: &mut PageBrowser) -> String {
    let check = browser.check();
    let program = Background::start(home.onecall_with_config(&["run", "-e", PROGRAM]));
    let first = waiting(browser, "");
    let edited = "arguments=%7B%22path%22%3A%22%3Cedited%3E%22%7D";
    let body = format!("check={check}&decision=once&{edited}");
    assert_eq!(browser.post(&format!("/page/inbox/{first}"), &body).status, 303);
    let second = waiting(browser, &first);
    let body = format!("check={check}&decision=run");
    assert_eq!(browser.post(&format!("/page/inbox/{second}"), &body).status, 303);
    assert_eq!(program.ended().stdout, "deleted\n".repeat(3));
    let listed = finish(home.onecall_with_config(&["runs", "--json", "--limit", "1"]));
    let runs: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    runs[0]["id"].as_str().expect("a run").to_owned()
}

#[test]
fn answers_and_the_arguments_that_were_sent_are_shown() {
    for audit in ["hash", "off"] {
        let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
        let mut config = json!({ "approvals": approvals });
        if audit != "off" {
            config["audit"] = json!(audit);
        }
        let home = recorded_home(&config);
        let page = PageProcess::start(&home);
        let mut browser = page.browser();
        let id = run_with_answers(&home, &mut browser);
        let text = browser.get(&format!("/page/runs/{id}")).text;
        let (_, calls) = text.split_once("<table class=\"calls\">").expect("the calls");
        let rows: Vec<&str> = calls.split("<tr>").skip(2).collect();
        let by = "approved with other arguments by ";
        assert!(rows[0].contains(by) && rows[0].contains(RULE), "{audit}: {}", rows[0]);
        assert!(rows[0].contains("{&quot;path&quot;:&quot;&lt;edited&gt;&quot;}"), "{}", rows[0]);
        assert!(rows[1].contains("approved for its run by "), "{audit}: {}", rows[1]);
        assert!(!rows[1].contains("<code>"), "{audit}: {}", rows[1]);
        let covered = rows[2].contains("covered by ") && rows[2].contains("'s earlier approval");
        assert!(covered && rows[2].contains(RULE), "{audit}: {}", rows[2]);
        // Beside the lines, too.
        for (line, words) in
            [(1, "approved with other"), (2, "approved for its"), (3, "covered by")]
        {
            let (_, rest) = text.split_once(&format!("id=\"line-{line}\"")).expect("the line");
            let row = rest.split("</tr>").next().expect("its end");
            assert!(row.contains(words), "{audit}: {row}");
        }
        // The page of the call has both: what was sent, and what the program wrote.
        let call = browser.get(&format!("/page/runs/{id}/calls/1")).text;
        let (_, rest) = call.split_once("Arguments that were sent").expect("the arguments");
        let (sent, written) = rest.split_once("Arguments of the program").expect("the others");
        assert!(sent.contains("&lt;edited&gt;") && !sent.contains("&quot;a&quot;"), "{sent}");
        assert!(written.contains("&quot;a&quot;"), "{written}");
        let file = browser.get(&format!("/page/runs/{id}/calls/1/sent-arguments.txt"));
        assert_eq!((file.status, file.text.as_str()), (200, "{\"path\":\"<edited>\"}"));
        let other = browser.get(&format!("/page/runs/{id}/calls/2"));
        assert!(!other.text.contains("that were sent"), "{}", other.text);
        let missing = browser.get(&format!("/page/runs/{id}/calls/2/sent-arguments.txt"));
        assert_eq!(missing.status, 404);
        let file = browser.get(&format!("/page/runs/{id}/run.html")).text;
        assert!(file.contains(by) && file.contains("&lt;edited&gt;"), "{file}");
    }
}
