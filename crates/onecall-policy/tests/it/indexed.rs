//! What is decided with the index, the caches and the typed arguments is what Cedar decides about the
//! whole set of policies, and nothing is hidden from a user who could call it.

use cedar_policy::{
    Authorizer, Context, Entities, Entity, EntityUid, PolicySet, Request, RestrictedExpression,
};
use onecall_core::{AccessDecision, AccessPolicy, AccessRequest, Principal, RunContext, ToolSpec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::support::{policies, run, show, tools, user};

const ACTIONS: [&str; 3] = ["mcp__github__get_repo", "mcp__github__delete_repo", "mcp__bank__pay"];

fn principal() -> impl Strategy<Value = &'static str> {
    select(vec![
        "principal",
        "principal is User",
        "principal == User::\"anna\"",
        "principal == User::\"ben\"",
        "principal in Group::\"dev\"",
        "principal in Group::\"ops\"",
        "principal is User in Group::\"ops\"",
    ])
}

fn resource() -> impl Strategy<Value = &'static str> {
    select(vec!["resource", "resource", "resource is Server", "resource == Server::\"github\""])
}

/// A condition without arguments.
fn condition() -> impl Strategy<Value = String> {
    select(vec![
        "true",
        "false",
        "context.annotations.read_only",
        "context.annotations.destructive && context.annotations.open_world",
        "context.client == \"editor\"",
        "context.tool like \"delete*\"",
        "context.kind == \"plan\"",
        "context has program",
        "principal.name == \"anna\"",
        "principal in Group::\"ops\"",
        "resource.name like \"g*\"",
        "action == Action::\"mcp__github__get_repo\"",
        "action in Action::\"call\"",
        // Another user is not an entity of the request, so that this is an error.
        "User::\"carl\".name == \"carl\"",
    ])
    .prop_map(str::to_owned)
}

/// A condition about the arguments of the tools of the server `github`.
fn argument_condition() -> impl Strategy<Value = String> {
    select(vec![
        "context.input.owner == \"acme\"",
        "context.input.owner like \"a*\" || context.client == \"editor\"",
        "context.input has limit && context.input.limit > 3",
        "context.input has labels && context.input.labels.contains(\"urgent\")",
        "context.input has \"dry-run\" && context.input[\"dry-run\"]",
        "!(context.input has limit)",
        "context.input.owner == principal.name",
        "context.input has limit && principal in Group::\"dev\"",
        "context.input has limit && context.input.limit * 9223372036854775807 > 0",
    ])
    .prop_map(str::to_owned)
}

fn policy() -> impl Strategy<Value = String> {
    let effect = select(vec!["permit", "permit", "permit", "forbid", "@ask(\"sure?\") forbid"]);
    let broad = select(vec![
        "action".to_owned(),
        "action in Action::\"call\"".to_owned(),
        "action in Action::\"resources\"".to_owned(),
        format!("action in [Action::\"call\", Action::\"{}\"]", ACTIONS[0]),
        format!("action in [Action::\"{}\", Action::\"{}\"]", ACTIONS[0], ACTIONS[2]),
    ]);
    let pay = format!("action == Action::\"{}\"", ACTIONS[2]);
    let named = select(vec![
        format!("action == Action::\"{}\"", ACTIONS[0]),
        format!("action == Action::\"{}\"", ACTIONS[1]),
        format!("action in [Action::\"{}\", Action::\"{}\"]", ACTIONS[0], ACTIONS[1]),
    ]);
    let head = prop_oneof![
        (broad, prop::option::of(condition())),
        (Just(pay), prop::option::of(condition())),
        (named, prop::option::of(prop_oneof![condition(), argument_condition()])),
    ];
    let clause = select(vec!["when", "when", "unless"]);
    (effect, principal(), head, resource(), clause).prop_filter_map(
        "the policy must be able to apply",
        |(effect, principal, (action, condition), resource, clause)| {
            if action.contains("== Action::\"mcp__bank__pay") && resource.contains("github") {
                return None;
            }
            let condition = condition.map(|it| format!(" {clause} {{ {it} }}"));
            Some(format!(
                "{effect}({principal}, {action}, {resource}){};\n",
                condition.unwrap_or_default()
            ))
        },
    )
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let entries = prop::sample::subsequence(
        vec![
            ("owner", json!("acme")),
            ("owner", json!("other")),
            ("owner", json!("ben")),
            ("repo", json!("site")),
            ("labels", json!(["urgent", "urgent"])),
            ("labels", json!([])),
            ("dry-run", json!(true)),
            ("limit", json!(5)),
            ("limit", json!(null)),
            ("unknown", json!({ "a": 1.5 })),
        ],
        0..=10,
    );
    entries.prop_map(|entries| entries.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
}

fn request() -> impl Strategy<Value = (Principal, usize, Map<String, Value>, bool)> {
    let users = vec![
        user("anna", &["dev"]),
        user("ben", &["dev", "ops"]),
        user("carl", &[]),
        user("dora", &["ops"]),
    ];
    (select(users), 0..tools().len(), arguments(), any::<bool>())
}

fn uid(text: String) -> EntityUid {
    text.parse().unwrap()
}

/// What Cedar says about each policy, without any index.
fn reference(
    text: &str,
    run: &RunContext,
    tool: &ToolSpec,
    arguments: &Map<String, Value>,
) -> &'static str {
    let principal = uid(format!("User::\"{}\"", run.principal.user));
    let groups = run.principal.groups.iter().map(|it| uid(format!("Group::\"{it}\"")));
    let name = |name: &str| {
        let value = RestrictedExpression::new_string(name.to_owned());
        [("name".to_owned(), value)].into()
    };
    let server = uid(format!("Server::\"{}\"", tool.server));
    let action = uid(format!("Action::\"{}\"", tool.callable));
    let entities = [
        Entity::new(principal.clone(), name(run.principal.user.as_str()), groups.collect())
            .unwrap(),
        Entity::new(server.clone(), name(tool.server.as_str()), [].into()).unwrap(),
        Entity::new_no_attrs(action.clone(), [uid("Action::\"call\"".to_owned())].into()),
    ];
    let entities = Entities::from_entities(entities, None).unwrap();
    let known = ["owner", "repo", "labels", "dry-run", "limit"];
    let input =
        arguments.iter().filter(|(key, value)| known.contains(&key.as_str()) && !value.is_null());
    let input: Map<String, Value> =
        input.map(|(key, value)| (key.clone(), value.clone())).collect();
    let hint = |hint: Option<bool>, default| hint.unwrap_or(default);
    let hints = &tool.annotations;
    let read_only = hint(hints.read_only_hint, false);
    let mut context = json!({
        "input": input, "client": run.client, "kind": run.kind.name(), "tool": tool.tool.as_str(),
        "annotations": {
            "read_only": read_only,
            "destructive": !read_only && hint(hints.destructive_hint, true),
            "idempotent": hint(hints.idempotent_hint, false),
            "open_world": hint(hints.open_world_hint, true),
        },
    });
    if let Some(program) = run.program {
        context["program"] = program.to_string().into();
    }
    let context = Context::from_json_value(context, None).unwrap();
    let request = Request::new(principal, action, server, context, None).unwrap();
    let all: PolicySet = text.parse().unwrap();
    let satisfied = |ask: bool, effect: cedar_policy::Effect| {
        let chosen = all.policies().filter(|it| it.effect() == effect);
        let chosen = chosen.filter(|it| it.annotation("ask").is_some() == ask).cloned();
        let set = PolicySet::from_policies(chosen).unwrap();
        let response = Authorizer::new().is_authorized(&request, &set, &entities);
        let failed = response.diagnostics().errors().next().is_some();
        (response.diagnostics().reason().next().is_some(), failed)
    };
    let (permitted, permit_failed) = satisfied(false, cedar_policy::Effect::Permit);
    let (forbidden, forbid_failed) = satisfied(false, cedar_policy::Effect::Forbid);
    let (asked, ask_failed) = satisfied(true, cedar_policy::Effect::Forbid);
    match () {
        () if permit_failed || forbid_failed || ask_failed || forbidden || !permitted => "deny",
        () if asked => "ask",
        () => "allow",
    }
}

/// Few cases in a usual test run, and as many as PROPTEST_CASES says otherwise.
fn config() -> ProptestConfig {
    let wanted = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => wanted,
        None => ProptestConfig { cases: 64, ..wanted },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_index_decides_like_the_whole_set(
        texts in prop::collection::vec(policy(), 0..12),
        requests in prop::collection::vec(request(), 1..24),
    ) {
        let text = texts.concat();
        let policies = policies(&text);
        for (principal, number, arguments, has_program) in requests {
            let mut run = run(&principal);
            if !has_program {
                run.program = None;
                run.client = "other".to_owned();
            }
            let tools = tools();
            let tool = &tools[number];
            let raw = RawValue::from_string(Value::from(arguments.clone()).to_string()).unwrap();
            let request = AccessRequest { run: &run, tool, arguments: &raw };
            let decision = policies.decide(&request);
            let word = match &decision {
                AccessDecision::Allow(_) => "allow",
                AccessDecision::Ask(_) => "ask",
                AccessDecision::Deny(_) => "deny",
            };
            let expected = reference(&text, &run, tool, &arguments);
            prop_assert_eq!(word, expected, "{} for {} of {}:\n{}", show(&decision), principal.user, tool.callable, text);
            prop_assert_eq!(show(&policies.explain(&request).decision), show(&decision));
            let outlook = policies.outlook(&principal, tool);
            prop_assert!(outlook.may_call || word == "deny", "{}", text);
            prop_assert!(outlook.may_ask || word != "ask", "{}", text);
            prop_assert!(policies.asks() || word != "ask", "{}", text);
        }
    }
}
