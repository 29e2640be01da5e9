//! What is wrong with policies is said with its place, when they are loaded.

use std::sync::Arc;

use onecall_core::{AccessPolicy, ServerName};
use onecall_policy::{Policies, WarningKind};
use serde_json::json;

use crate::support::{
    catalog_tools, decide, load, parse, policies, run, servers, tool, tools, user,
};

/// All that is said about a text: errors, or warnings.
fn said(text: &str) -> String {
    match load(text) {
        Ok((_, warnings)) => {
            warnings.iter().map(|it| format!("warning: {it}\n")).collect::<String>() + "valid"
        }
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn mistakes_in_the_syntax_have_their_place() {
    let text = "permit(principal, action, resource);\npermit(principal, action)\n  when { true };";
    insta::assert_snapshot!(said(text));
    insta::assert_snapshot!(said("permit(principal, action, resource) when { context.tool == };"));
    insta::assert_snapshot!(said("allow(principal, action, resource);"));
    insta::assert_snapshot!(said("permit(principal, action, resource) when { \"open };"));
    insta::assert_snapshot!(said("\n\npermit(principal == ?principal, action, resource);"));
    insta::assert_snapshot!(said(&format!(
        "permit(principal, action, resource) when {{ {}true{} }};",
        "(".repeat(70),
        ")".repeat(70)
    )));
}

#[test]
fn names_that_do_not_exist_have_the_nearest_one() {
    insta::assert_snapshot!(said(
        r#"
permit(principal, action, resource == Server::"gihub");
permit(principal, action == Action::"mcp__github__delet_repo", resource);
permit(principal, action == Action::"mcp__github__fly", resource);
permit(principal, action == Action::"mcp__gitlab__get_repo", resource);
permit(principal, action in [Action::"mcp__files__read", Action::"nothing"], resource);
permit(principal, action == Action::"read_resorce", resource);
permit(principal, action in Action::"calls", resource)
  when { resource == Server::"banc" };
forbid(principal, action, resource) when { action == Action::"mcp__bank__pai" };
permit(principal in Team::"x", action, resource);
permit(principal == User::"x", action == Action::"call", resource);
permit(principal, action == Action::"mcp__bank__pay", resource == Server::"github");
"#
    ));
}

#[test]
fn arguments_that_do_not_exist_or_have_no_type_are_errors() {
    insta::assert_snapshot!(said(
        r#"
permit(principal, action == Action::"mcp__github__delete_repo", resource)
  when { context.input.onwer == "acme" };
permit(principal, action == Action::"mcp__github__delete_repo", resource)
  when { context.input has owner && context.input.options.force };
permit(principal, action == Action::"mcp__github__delete_repo", resource)
  when { context.input.limit > 3 };
permit(principal, action == Action::"mcp__github__delete_repo", resource)
  when { context.input.owner > 3 };
permit(principal, action == Action::"mcp__bank__pay", resource)
  when { context.input.amount < 100 };
permit(principal, action == Action::"mcp__bank__pay", resource)
  when { context.input.to.ibn like "DE*" };
permit(principal, action == Action::"mcp__bank__pay", resource)
  when { context.input == {amount: 1} };
permit(principal, action in [Action::"mcp__bank__pay", Action::"mcp__files__read"], resource)
  when { context.input.path like "*" };
permit(principal, action, resource)
  when { context.clientt == "x" };
"#
    ));
}

#[test]
fn a_policy_for_many_tools_reads_no_arguments() {
    insta::assert_snapshot!(said(
        r#"
permit(principal, action, resource)
  when { context.input.path == "x" };
permit(principal, action in Action::"call", resource == Server::"files")
  when { context has input };
permit(principal, action in [Action::"call", Action::"mcp__files__read"], resource)
  when { action == Action::"mcp__files__read" && context.input.path == "x" };
forbid(principal, action, resource) when { context == {client: "x"} };
"#
    ));
}

#[test]
fn annotations_are_checked() {
    insta::assert_snapshot!(said(
        r#"
@ask("why") permit(principal, action, resource);
@reason("because")
permit(principal, action, resource);
@id("") permit(principal, action, resource);
@id("default") permit(principal, action, resource);
@id("one") permit(principal, action, resource);
@id("one") forbid(principal, action, resource);
@aks("why") forbid(principal, action, resource);
@colour("red") forbid(principal, action, resource);
@description("fine") @id("two") @ask forbid(principal, action, resource);
"#
    ));
}

#[test]
fn each_policy_has_its_own_name() {
    let text = r#"@id("one") permit(principal, action, resource);
@id("one") forbid(principal, action, resource);
@id("team.cedar:4") forbid(principal, action, resource);
forbid(principal, action, resource);"#;
    insta::assert_snapshot!(said(text));
}

#[test]
fn what_is_valid_but_odd_is_a_warning() {
    insta::assert_snapshot!(said(
        r#"
permit(principal, action, resource) when { false };
permit(principal is Server, action, resource);
permit(principal, action == Action::"mcp__crm__add_lead", resource)
  when { context.input.email like "*@example.com" };
permit(principal in Group::"dev", action in Action::"call", resource == Server::"crm");
permit(principal == User::"anna", action, resource)
  when { action in [Action::"mcp__github__get_repo", Action::"mcp__crm__x"] && context.client == "e" };
"#
    ));
}

#[test]
fn a_policy_is_checked_again_when_its_tool_appears() {
    let text = r#"permit(principal, action, resource);
forbid(principal in Group::"dev", action == Action::"mcp__crm__add_lead", resource)
  when { context.input.email like "*@example.com" };"#;
    let email = |required: &[&str]| json!({ "properties": { "email": { "type": "string" } }, "required": required });
    let (policies, warnings) = load(text).unwrap();
    let kinds: Vec<_> = warnings.iter().map(|it| it.kind.clone()).collect();
    assert_eq!(kinds, [WarningKind::NotListedYet(ServerName::new("crm"))]);
    let all = |schema| {
        let mut all = tools();
        all.push(tool("crm", "add_lead", schema, json!({})));
        all
    };
    let fits = all(email(&["email"]));
    assert_eq!(policies.recheck(&fits), []);
    let (dev, other) = (run(&user("anna", &["dev"])), run(&user("ben", &[])));
    let lead = fits.last().unwrap();
    let call = |run, lead: &Arc<_>, email: &str| {
        decide(&policies, run, lead, &json!({ "email": email }).to_string())
    };
    assert_eq!(call(&dev, lead, "a@b.c"), "allow: policy team.cedar:1");
    assert_eq!(call(&dev, lead, "a@example.com"), "deny: policy team.cedar:2");
    assert_eq!(call(&other, lead, "a@example.com"), "allow: policy team.cedar:1");
    // The tool changes, and the policy does not fit any more.
    let changed = all(email(&[]));
    let warnings = policies.recheck(&changed);
    let shown: Vec<String> = warnings.iter().map(|it| format!("{:?} {it}", it.kind)).collect();
    insta::assert_snapshot!(shown.join("\n"));
    let lead = changed.last().unwrap();
    insta::assert_snapshot!(call(&dev, lead, "a@b.c"));
    assert_eq!(call(&other, lead, "a@b.c"), "allow: policy team.cedar:1");
}

#[test]
fn a_second_tool_of_the_same_name_shakes_no_policy_off() {
    let text = r#"permit(principal, action, resource == Server::"files");
forbid(principal, action == Action::"mcp__files__drop_all", resource)
  when { context.input has id && context.input.id > 5 };
permit(principal, action == Action::"mcp__files__drop_all", resource == Server::"files");"#;
    let run = run(&user("anna", &[]));
    let check = |names: &[&str]| {
        let tools = catalog_tools("files", names);
        let (policies, warnings) = Policies::new(parse(text).unwrap(), &servers(), &tools).unwrap();
        let call = |id: u32| {
            let tool = tools.iter().find(|it| it.tool.as_str() == "drop-all").unwrap();
            decide(&policies, &run, tool, &json!({ "id": id }).to_string())
        };
        (call(3), call(7), warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let forbidden = "deny: policy team.cedar:2".to_owned();
    let allowed = "allow: policy team.cedar:1".to_owned();
    assert_eq!(check(&["drop-all"]), (allowed.clone(), forbidden.clone(), vec![]));
    let shared = "team.cedar:4:37: several tools would have the name 'mcp__files__drop_all', so none has it and this permits nothing; `onecall tools` shows their names".to_owned();
    assert_eq!(check(&["drop-all", "drop_all"]), (allowed, forbidden, vec![shared]));
}

#[test]
fn hostile_policies_cost_little_and_do_not_end_the_process() {
    let chain = "true || ".repeat(4_000);
    let text = format!("permit(principal, action, resource) when {{ {chain} true }};");
    let policies = policies(&text);
    let shown = decide(&policies, &run(&user("anna", &[])), &tools()[0], "{}");
    assert!(shown.starts_with("allow: ") || shown.starts_with("deny: "), "{shown}");
    let long = format!(
        "permit(principal, action, resource) when {{ {} true }};",
        "true || ".repeat(9_000)
    );
    assert_eq!(
        said(&long),
        "team.cedar:1:1: this policy has more than 32 KiB; split it into several"
    );
    let bomb =
        format!("permit(principal, action, resource) when {{ {}1 == 1 }};", "!".repeat(10_000));
    assert_ne!(said(&bomb), "valid");
    let deep =
        json!({ "properties": { "x": { "anyOf": vec![json!({ "type": "string" }); 100_000] } } });
    let hostile = [tool("files", "odd", deep, json!({}))];
    let text = r#"permit(principal, action == Action::"mcp__files__odd", resource) when { context.input.x == "a" };"#;
    let errors = Policies::new(parse(text).unwrap(), &servers(), &hostile).err().unwrap();
    assert_eq!(
        errors.to_string(),
        "team.cedar:1:81: policies cannot read the arguments of 'mcp__files__odd': the tool's schema is too large"
    );
    let text = r#"permit(principal, action == Action::"mcp__files__odd", resource) when { context.client == "editor" };"#;
    let (policies, _) = Policies::new(parse(text).unwrap(), &servers(), &hostile).unwrap();
    assert!(policies.outlook(&user("anna", &[]), &hostile[0]).may_call);
}
