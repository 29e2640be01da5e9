//! Listing approvals that cover later calls, and taking them back.

use insta::assert_snapshot;
use onecall_core::{CallableName, RunId, Timestamp, UserName};
use serde_json::{Value, json};

use super::{Desk, SECRET, user};

/// A desk with an approval until a date and one for a run.
fn desk_with_approvals() -> Desk {
    let desk = Desk::new();
    let arguments = json!({ "folder": SECRET }).to_string();
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, &arguments), (2, "{}")]);
    let until = ["approve", "1m7g.1", "--until", "2999-12-30", "--where", "folder"];
    assert_eq!(desk.approvals(&until).code, Some(0));
    assert_eq!(desk.approvals(&["approve", "1m7g.2", "--for-run"]).code, Some(0));
    desk
}

#[test]
fn approvals_of_later_calls_are_listed() {
    let empty = Desk::new().approvals(&["grants"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    assert_eq!(empty.stderr, "No approval covers later calls\n");
    let desk = desk_with_approvals();
    let listed = desk.approvals(&["grants"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    let shown = listed.stdout.replace(&user(), "USER");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_snapshot!(shown.lines().map(words).collect::<Vec<_>>().join("\n"), @r#"
    ID UNTIL BY TOOL ARGUMENTS
    1m7g7r5ga39rv3.1 2999-12-31T00:00:00Z USER mcp__shop__delete_order {"folder":"[redacted]"}
    1m7g7r5ga39rv3.2 the end of its run USER mcp__shop__delete_order any
    "#);
    let (code, listed) = desk.json(&["grants"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        listed[0],
        json!({
            "id": "1m7g7r5ga39rv3.1",
            "tool": "mcp__shop__delete_order",
            "run": null,
            "arguments": { "folder": "[redacted]" },
            "until": "2999-12-31T00:00:00Z",
            "by": user(),
        })
    );
    assert_eq!((&listed[1]["run"], &listed[1]["until"]), (&json!("1m7g7r5ga39rv3"), &Value::Null));
}

#[test]
fn an_approval_of_later_calls_can_be_taken_back() {
    let desk = desk_with_approvals();
    let covering = || {
        let name = CallableName::new("mcp__shop__delete_order");
        let run = RunId::from_existing("1m7g7r5ga39rv3");
        let grants = desk.store.grants(&name, &run, &UserName::local(), Timestamp::now()).unwrap();
        grants.iter().map(|grant| grant.item.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(desk.onecall(&["grant-ids"]).stdout, "1m7g7r5ga39rv3.1\n1m7g7r5ga39rv3.2\n");
    let revoked = desk.approvals(&["revoke", "1m7g7r5ga39rv3.1"]);
    assert_eq!((revoked.code, revoked.stdout.as_str()), (Some(0), ""));
    assert_eq!(
        revoked.stderr,
        "Later calls of 'mcp__shop__delete_order' ask again (1m7g7r5ga39rv3.1)\n"
    );
    assert_eq!(covering(), ["1m7g7r5ga39rv3.2"]);
    assert_eq!(desk.state("1m7g.1")["verdict"], json!("approve"));
    let again = desk.approvals(&["revoke", "1m7g7r5ga39rv3.1"]);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (
            Some(1),
            "error: no approval that covers later calls has the id '1m7g7r5ga39rv3.1'; did you mean \
             '1m7g7r5ga39rv3.2'?\n"
        )
    );
    let (code, outcomes) = desk.json(&["revoke", "1m7g", "nothing"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        [&outcomes[0]["revoked"], &outcomes[1]["revoked"], &outcomes[0]["id"]],
        [&json!(true), &json!(false), &json!("1m7g7r5ga39rv3.2")]
    );
    assert_eq!(covering(), [""; 0]);
}

#[test]
fn the_beginning_of_several_ids_takes_nothing_back() {
    let desk = desk_with_approvals();
    let refused = desk.approvals(&["revoke", "1m7g"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(
        refused.stderr,
        "error: several approvals begin with '1m7g': 1m7g7r5ga39rv3.1, 1m7g7r5ga39rv3.2; write more \
         of it\n"
    );
    assert_eq!(desk.onecall(&["grant-ids"]).stdout.lines().count(), 2);
}
