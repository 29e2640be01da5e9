//! Decisions about calls.

use onecall_core::AccessRequest;
use onecall_core::{AccessOutlook, AccessPolicy, RunKind};
use onecall_policy::PolicyResult;
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{decide, function, policies, run, tools, user};

const DEFAULT: &str = "deny: policy default: no policy permits it";

/// Decides about a call of the tool `name` by anna, who is in the group dev.
fn call(text: &str, name: &str, arguments: &str) -> String {
    let tools = tools();
    let tool = tools.iter().find(|it| it.callable.as_str() == name).unwrap();
    decide(&policies(text), &run(&user("anna", &["dev"])), tool, arguments)
}

const DELETE: &str = "mcp__github__delete_repo";
const PAY: &str = "mcp__bank__pay";

#[test]
fn a_permit_is_needed_and_a_forbid_is_stronger() {
    let arguments = r#"{"owner": "acme", "repo": "site"}"#;
    for (text, expected) in [
        ("", DEFAULT),
        ("permit(principal, action, resource);", "allow: policy team.cedar:1"),
        (r#"@id("all") permit(principal, action, resource);"#, "allow: policy all"),
        (r#"permit(principal in Group::"ops", action, resource);"#, DEFAULT),
        (r#"permit(principal in Group::"dev", action, resource);"#, "allow: policy team.cedar:1"),
        (r#"permit(principal == User::"Anna", action, resource);"#, DEFAULT),
        (r#"permit(principal, action, resource == Server::"files");"#, DEFAULT),
        (r#"permit(principal, action in Action::"resources", resource);"#, DEFAULT),
        (
            r#"permit(principal, action in [Action::"mcp__github__delete_repo", Action::"mcp__bank__pay"], resource == Server::"bank");"#,
            DEFAULT,
        ),
        (
            r#"permit(principal, action, resource); forbid(principal, action, resource == Server::"github");"#,
            "deny: policy team.cedar:1:38",
        ),
        (
            r#"permit(principal, action, resource);
               @reason("ask the owner") forbid(principal, action, resource == Server::"github");"#,
            "deny: policy team.cedar:2: ask the owner",
        ),
        (
            r#"permit(principal, action, resource);
               @ask("it is for ever") @id("careful") forbid(principal, action, resource) when { context.annotations.destructive };"#,
            "ask: policy careful: it is for ever",
        ),
        // Nothing permits the call, so nobody is asked.
        (r#"@ask("sure?") forbid(principal, action, resource);"#, DEFAULT),
        (
            r#"permit(principal, action, resource);
               @ask forbid(principal, action, resource);
               @id("never") forbid(principal, action == Action::"mcp__github__delete_repo", resource) when { context.input.owner == "acme" };"#,
            "deny: policy never",
        ),
        (
            r#"permit(principal, action, resource);
               @id("broken") permit(principal, action, resource) when { User::"ben".name == "ben" };"#,
            "deny: policy broken: it cannot be evaluated for a call of 'mcp__github__delete_repo': entity `User::\"ben\"` does not exist",
        ),
        (
            r#"permit(principal, action, resource) when { context.tool like "delete_*" && resource.name == "github" && principal.name == "anna" };"#,
            "allow: policy team.cedar:1",
        ),
    ] {
        assert_eq!(call(text, DELETE, arguments), expected, "{text}");
    }
}

#[test]
fn arguments_are_seen_as_they_are_sent_or_deny() {
    let text = r#"permit(principal, action == Action::"mcp__bank__pay", resource)
      when { context.input.amount.lessThanOrEqual(decimal("100.00")) && context.input.to.iban like "DE*" };"#;
    let failed = |why: &str| {
        format!(
            "deny: policy team.cedar:1: it cannot be evaluated for a call of 'mcp__bank__pay': {why}"
        )
    };
    let inexact = "of the argument 'amount', it is a number that Cedar cannot carry: at most four digits after the point, and at most 922337203685477.5807";
    let to = r#""to": {"iban": "DE1"}"#;
    for (arguments, expected) in [
        (format!(r#"{{"amount": 99.5, {to}}}"#), "allow: policy team.cedar:1".to_owned()),
        (
            format!(r#"{{"amount": 100, {to}, "more": [1.23456789]}}"#),
            "allow: policy team.cedar:1".to_owned(),
        ),
        (format!(r#"{{"amount": 1e2, {to}}}"#), "allow: policy team.cedar:1".to_owned()),
        (format!(r#"{{"amount": 100.0001, {to}}}"#), DEFAULT.to_owned()),
        (format!(r#"{{"amount": 100.00001, {to}}}"#), failed(inexact)),
        (format!(r#"{{"amount": 1e400, {to}}}"#), failed(inexact)),
        (
            format!(r#"{{"amount": "5", {to}}}"#),
            failed("of the argument 'amount', it is not a number, as the tool's schema says"),
        ),
        (
            format!(r#"{{"amount": 5, "amount": 500, {to}}}"#),
            failed("the arguments have the same key twice in one object"),
        ),
        (
            r#"{"amount": 5, "to": {"iban": "DE1", "iban": "FR1"}}"#.to_owned(),
            failed("the arguments have the same key twice in one object"),
        ),
        (
            r#"{"amount": 5, "to": "DE1"}"#.to_owned(),
            failed("of the argument 'to', it is not an object, as the tool's schema says"),
        ),
        (
            r#"{"amount": 5, "to": {"iban": 1}}"#.to_owned(),
            failed("of the argument 'to', it is not a string, as the tool's schema says"),
        ),
        (
            format!(r#"{{"amount": null, {to}}}"#),
            failed("record does not have the attribute `amount`"),
        ),
        (
            format!(r#"{{"Amount": 5, {to}}}"#),
            failed("record does not have the attribute `amount`"),
        ),
        // An argument that no policy reads may be anything.
        (
            format!(r#"{{"amount": 5, "cents": 99999999999999999999, {to}}}"#),
            "allow: policy team.cedar:1".to_owned(),
        ),
        ("[]".to_owned(), failed("the arguments are not valid JSON")),
    ] {
        assert_eq!(call(text, PAY, &arguments), expected, "{arguments}");
    }
}

#[test]
fn integers_beyond_64_bits_and_other_types_deny() {
    let text = r#"permit(principal, action, resource);
      forbid(principal, action == Action::"mcp__bank__pay", resource) when { context.input has cents && context.input.cents > 1000 };"#;
    let failed = |why: &str| {
        format!(
            "deny: policy team.cedar:2: it cannot be evaluated for a call of 'mcp__bank__pay': of the argument 'cents', {why}"
        )
    };
    let integer = "it is not an integer, as the tool's schema says";
    for (cents, expected) in [
        ("5", "allow: policy team.cedar:1".to_owned()),
        ("null", "allow: policy team.cedar:1".to_owned()),
        ("5000", "deny: policy team.cedar:2".to_owned()),
        ("99999999999999999999", failed("it is an integer of more than 64 bits")),
        ("5000.0", failed(integer)),
        ("5e3", failed(integer)),
        ("\"5000\"", failed(integer)),
        ("[5000]", failed(integer)),
        ("true", failed(integer)),
    ] {
        assert_eq!(call(text, PAY, &format!(r#"{{"cents": {cents}}}"#)), expected, "{cents}");
    }
    // Where no policy reads arguments, they are not looked at.
    let text = "permit(principal, action, resource);";
    assert_eq!(call(text, PAY, r#"{"a": 1, "a": 2}"#), "allow: policy team.cedar:1");
}

#[test]
fn names_that_are_no_identifiers_can_be_read() {
    let text = r#"permit(principal, action == Action::"mcp__github__delete_repo", resource)
      when { context.input has "dry-run" && context.input["dry-run"] };"#;
    assert_eq!(call(text, DELETE, r#"{"dry-run": true}"#), "allow: policy team.cedar:1");
    assert_eq!(call(text, DELETE, r#"{"dry-run": false}"#), DEFAULT);
    assert_eq!(call(text, DELETE, "{}"), DEFAULT);
}

#[test]
fn the_client_the_program_and_the_kind_of_run_count() {
    let text = r#"permit(principal, action, resource)
      when { context.client == "editor" && context.kind == "program" && context has program };"#;
    let policies = policies(text);
    let tools = tools();
    let mut run = run(&user("anna", &[]));
    assert_eq!(decide(&policies, &run, &tools[0], "{}"), "allow: policy team.cedar:1");
    run.client = "Editor".to_owned();
    assert_eq!(decide(&policies, &run, &tools[0], "{}"), DEFAULT);
    run.client = "editor".to_owned();
    run.kind = RunKind::Plan;
    assert_eq!(decide(&policies, &run, &tools[0], "{}"), DEFAULT);
    run.kind = RunKind::Program;
    run.program = None;
    assert_eq!(decide(&policies, &run, &tools[0], "{}"), DEFAULT);
}

#[test]
fn users_are_told_apart_exactly() {
    let policies = policies(r#"permit(principal == User::"anna", action, resource);"#);
    let tools = tools();
    let decide = |name: &str| decide(&policies, &run(&user(name, &[])), &tools[0], "{}");
    assert_eq!(decide("anna"), "allow: policy team.cedar:1");
    for other in ["Anna", "ann", "annа", "local"] {
        assert_eq!(decide(other), DEFAULT, "{other}");
    }
    // Groups at the time of the call count, not those of an earlier one.
    let policies =
        crate::support::policies(r#"permit(principal in Group::"ops", action, resource);"#);
    let by = |groups: &[&str]| {
        crate::support::decide(&policies, &run(&user("anna", groups)), &tools[0], "{}")
    };
    assert_eq!(by(&["ops"]), "allow: policy team.cedar:1");
    assert_eq!(by(&[]), DEFAULT);
    assert_eq!(by(&["ops", "dev"]), "allow: policy team.cedar:1");
}

#[test]
fn an_outlook_hides_only_what_can_never_be_called() {
    let text = r#"
permit(principal in Group::"dev", action in Action::"call", resource == Server::"github");
forbid(principal, action == Action::"mcp__github__delete_repo", resource) unless { context.client == "admin" };
permit(principal in Group::"dev", action == Action::"mcp__bank__pay", resource) when { context.input.amount.lessThan(decimal("5.0")) };
@ask("sure?") forbid(principal, action == Action::"mcp__bank__pay", resource) when { context.input has cents };
permit(principal in Group::"dev", action in Action::"call", resource == Server::"files") when { context.annotations.read_only };
@ask("sure?") forbid(principal, action == Action::"mcp__files__write", resource);
forbid(principal == User::"ben", action, resource);
"#;
    let policies = policies(text);
    let outlook = |user: &_| -> Vec<(String, bool, bool)> {
        let show = |tool: &std::sync::Arc<onecall_core::ToolSpec>| {
            let AccessOutlook { may_call, may_ask } = policies.outlook(user, tool);
            (tool.tool.to_string(), may_call, may_ask)
        };
        tools().iter().map(show).collect()
    };
    let expected = |shown: [(&str, bool, bool); 5]| {
        shown.map(|(name, may_call, may_ask)| (name.to_owned(), may_call, may_ask))
    };
    assert_eq!(
        outlook(&user("anna", &["dev"])),
        expected([
            ("get_repo", true, false),
            ("delete_repo", true, false),
            ("pay", true, true),
            ("read", true, false),
            ("write", false, false),
        ])
    );
    let nothing =
        expected(["get_repo", "delete_repo", "pay", "read", "write"].map(|it| (it, false, false)));
    assert_eq!(outlook(&user("anna", &["ops"])), nothing);
    assert_eq!(outlook(&user("ben", &["dev"])), nothing);
}

#[test]
fn resources_and_prompts_are_not_opened_by_policies_for_tools() {
    let anna = run(&user("anna", &[]));
    let decide = |text: &str, name: &str, arguments: &str| {
        decide(&policies(text), &anna, &function(name), arguments)
    };
    let tools_only = r#"permit(principal, action in Action::"call", resource);"#;
    assert_eq!(decide(tools_only, "read_resource", r#"{"uri": "a", "server": "files"}"#), DEFAULT);
    let everything = "permit(principal, action, resource);";
    assert_eq!(
        decide(everything, "read_resource", r#"{"uri": "a"}"#),
        "allow: policy team.cedar:1"
    );
    let reading =
        r#"permit(principal, action in Action::"resources", resource == Server::"files");"#;
    for (name, arguments, expected) in [
        ("read_resource", r#"{"uri": "a", "server": "files"}"#, "allow: policy team.cedar:1"),
        ("read_resource", r#"{"uri": "a", "server": "github"}"#, DEFAULT),
        (
            "read_resource",
            r#"{"uri": "a", "server": "other"}"#,
            "deny: policy default: there is no server with this name",
        ),
        ("list_resources", r#"{"server": "files"}"#, "allow: policy team.cedar:1"),
        ("list_prompts", r#"{"server": "files"}"#, DEFAULT),
        (
            "list_resources",
            "{}",
            "deny: policy default: without server= the call is about all servers, and for the server 'github': no policy permits it; say which server with server=",
        ),
        (
            "read_resource",
            r#"{"uri": "a", "server": "files", "server": "github"}"#,
            "deny: policy default: there is no server with this name",
        ),
    ] {
        assert_eq!(decide(reading, name, arguments), expected, "{name} {arguments}");
    }
    // What is forbidden for a server cannot be reached by leaving its name out.
    let except = r#"permit(principal, action, resource); @id("hr") forbid(principal, action, resource == Server::"crm");"#;
    assert_eq!(
        decide(except, "read_resource", r#"{"uri": "a"}"#),
        "deny: policy hr: without server= the call is about all servers, and for the server 'crm': it is forbidden; say which server with server="
    );
    let by_uri = r#"permit(principal, action == Action::"read_resource", resource) when { context.input.uri like "docs://*" };"#;
    assert_eq!(
        decide(by_uri, "read_resource", r#"{"uri": "docs://a"}"#),
        "allow: policy team.cedar:1"
    );
    assert_eq!(
        decide(by_uri, "read_resource", r#"{"uri": "file://a", "server": "files"}"#),
        DEFAULT
    );
    let policies = policies(reading);
    let outlook = |name: &str| policies.outlook(&user("anna", &[]), &function(name)).may_call;
    assert_eq!([outlook("read_resource"), outlook("get_prompt")], [true, false]);
}

#[test]
fn an_explanation_names_every_policy() {
    let text = r#"permit(principal in Group::"dev", action in Action::"call", resource == Server::"github");
permit(principal in Group::"ops", action, resource);
permit(principal == User::"ben", action, resource);
permit(principal, action == Action::"mcp__files__read", resource);
permit(principal, action, resource == Server::"bank");
permit(principal, action in Action::"prompts", resource);
@ask("sure?") forbid(principal, action == Action::"mcp__github__delete_repo", resource) when { context.input.owner == "acme" };
forbid(principal, action, resource) when { context.client == "robot" };
forbid(principal, action == Action::"mcp__github__delete_repo", resource) when { context.input has limit && context.input.limit > 3 };"#;
    let (run, tools) = (run(&user("anna", &["dev"])), tools());
    let arguments = json!({ "owner": "acme", "repo": "x", "limit": "4" }).to_string();
    let arguments = RawValue::from_string(arguments).unwrap();
    let request = AccessRequest { run: &run, tool: &tools[1], arguments: &arguments };
    let explanation = policies(text).explain(&request);
    let show = |result: &PolicyResult| match result {
        PolicyResult::Satisfied => "satisfied".to_owned(),
        PolicyResult::ConditionFalse => "not satisfied".to_owned(),
        PolicyResult::Failed(why) => format!("failed: {why}"),
        PolicyResult::NotCovered(why) => format!("not covered: {why}"),
    };
    let shown: Vec<String> =
        explanation.policies.iter().map(|it| format!("{} {}", it.name, show(&it.result))).collect();
    insta::assert_snapshot!(format!(
        "{}\n{}",
        crate::support::show(&explanation.decision),
        shown.join("\n")
    ));
}
