//! Policies that have a person asked, without any setting of approvals.

use serde_json::json;
use testkit::process::wait_until;

use super::{DELETE_ONE, DELETED_ONE, Desk, files};
use crate::support::{TIMEOUT, dedent};

const PERMIT: &str = "permit (principal, action, resource);\n";

const ASK: &str = r#"
@ask("sure?")
forbid (principal, action == Action::"mcp__files__delete", resource);
"#;

/// A user whose configuration has this policy, and nothing about approvals.
fn desk_with_policy(policy: &str) -> Desk {
    let desk = Desk::new(&json!({}));
    desk.home.write("policy/team.cedar", policy);
    let servers = [files(&desk.home.text_path("received"))];
    desk.home.replace_config(&json!({ "servers": servers, "policy": "./policy" }));
    desk
}

#[test]
fn a_call_waits_for_a_person_that_a_policy_has_asked() {
    let desk = desk_with_policy(&format!("{PERMIT}{ASK}"));
    let mut agent = desk.agent();
    let arguments = json!({ "code": dedent(DELETE_ONE), "dry_run": true });
    assert_eq!(
        agent.0.call_tool("execute_program", arguments).text,
        "[Dry run: nothing was executed]\n\
         mcp__files__delete: changes something, perhaps destructive; at most once, line 2; the policy \
         may ask a person first"
    );
    let call = agent.start(DELETE_ONE);
    let question = desk.open_questions(1).remove(0).question;
    assert_eq!((question.rule.as_str(), desk.deletions()), ("policy team.cedar:3: sure?", 0));
    desk.approve(&question.item);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn a_policy_that_begins_to_ask_makes_runs_continuable() {
    let desk = desk_with_policy(PERMIT);
    let mut agent = desk.agent();
    assert!(!agent.0.tool_names().contains(&"continue_program".to_owned()));
    desk.home.write("policy/team.cedar", format!("{PERMIT}{ASK}"));
    let is_listed = || agent.0.tool_names().contains(&"continue_program".to_owned());
    assert!(wait_until(TIMEOUT, is_listed));
    let answer = agent.resume("1m7g7r5ga39rv3");
    assert_eq!(
        answer.text,
        "[Script execution failed]\nthere is no run '1m7g7r5ga39rv3' that waited for approval or could \
         be continued"
    );
}
