//! Decisions of policies: a thousand policies, ten thousand tools.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{
    AccessDecision, AccessPolicy, AccessRequest, CallableName, Digest, Principal, RunContext,
    RunId, RunKind, ServerName, ToolAnnotations, ToolName, ToolSpec, UserName,
};
use onecall_policy::{Policies, PolicyFile, PolicySource};
use serde_json::json;
use serde_json::value::RawValue;

use crate::rounds::Samples;
use crate::section::{Section, Unit};
use crate::subject::Subject;

const SERVERS: usize = 100;
const TOOLS_PER_SERVER: usize = 100;
const USERS: usize = 64;

/// Decisions in one sample.
const DECISIONS: usize = 20_000;

const LOAD: &str = "parse and check 1,000 policies";
const FIRST: &str = "the first decision about a tool for a user";
const CACHED: &str = "a decision that arguments do not matter to";
const BY_CLIENT: &str = "a decision by the name of the client";
const BY_ARGUMENTS: &str = "a decision by arguments";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let mut section = Section::new("1,000 policies and 10,000 tools");
    let servers: Vec<ServerName> =
        (0..SERVERS).map(|server| ServerName::new(format!("s{server}"))).collect();
    let tools: Vec<Arc<ToolSpec>> = servers.iter().flat_map(tools_of).collect();
    let runs: Vec<RunContext> = (0..USERS).map(run_of).collect();
    let [mut load, mut first, mut cached, mut by_client, mut by_arguments] =
        [(); 5].map(|()| Samples::default());
    for _ in 0..subject.rounds(15) {
        let start = Instant::now();
        let text = policy_text();
        let source = PolicySource::parse(vec![PolicyFile { name: "bench.cedar".to_owned(), text }])
            .map_err(|errors| errors.to_string())?;
        let count = source.len();
        let (policies, _) =
            Policies::new(source, &servers, &tools).map_err(|errors| errors.to_string())?;
        load.push(start.elapsed().as_secs_f64());
        if count != 1_000 {
            return Err(format!("there are {count} policies"));
        }
        // Tool 0 of a server has a policy about its arguments, tool 1 one about the client, and the
        // others have none of their own.
        let of_kind = |kind: usize| {
            let server = move |number: usize| (number * 7) % SERVERS;
            move |number: usize| server(number) * TOOLS_PER_SERVER + kind
        };
        let others = |number: usize| {
            (number * 7) % SERVERS * TOOLS_PER_SERVER + 2 + number % (TOOLS_PER_SERVER - 2)
        };
        first.push(time(&policies, &runs, &tools, others, 2_000)?);
        // Every user and tool that follows has been asked about once.
        for kind in [0, 1] {
            time(&policies, &runs, &tools, of_kind(kind), USERS * SERVERS)?;
        }
        cached.push(time(&policies, &runs, &tools, |number| others(number % 2_000), 2_000)?);
        by_client.push(time(&policies, &runs, &tools, of_kind(1), DECISIONS)?);
        by_arguments.push(time(&policies, &runs, &tools, of_kind(0), DECISIONS)?);
    }
    section.add(LOAD, Unit::Seconds, load);
    section.add(FIRST, Unit::Seconds, first);
    section.add(CACHED, Unit::Seconds, cached);
    section.add(BY_CLIENT, Unit::Seconds, by_client);
    section.add(BY_ARGUMENTS, Unit::Seconds, by_arguments);
    for name in [CACHED, BY_CLIENT, BY_ARGUMENTS] {
        section.promise_at_most(name, name, 20e-6);
    }
    section.note(format!(
        "{USERS} users in 10 groups; {SERVERS} servers with {TOOLS_PER_SERVER} tools each."
    ));
    Ok(section)
}

/// The mean time of decisions, all of which must allow the call.
fn time(
    policies: &Policies,
    runs: &[RunContext],
    tools: &[Arc<ToolSpec>],
    tool_of: impl Fn(usize) -> usize,
    count: usize,
) -> Result<f64, String> {
    let text =
        r#"{"id": 17, "owner": "acme", "labels": ["a", "b"], "amount": 12.5, "note": "please"}"#;
    let arguments: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let start = Instant::now();
    for number in 0..count {
        let (Some(run), Some(tool)) = (runs.get(number % runs.len()), tools.get(tool_of(number)))
        else {
            return Err("there is no such tool".to_owned());
        };
        match policies.decide(&AccessRequest { run, tool, arguments }) {
            AccessDecision::Allow(_) => {}
            other => return Err(format!("{} for {}", tool.callable, reason(&other))),
        }
    }
    Ok(start.elapsed().as_secs_f64() / count as f64)
}

fn reason(decision: &AccessDecision) -> String {
    let (AccessDecision::Allow(rule) | AccessDecision::Deny(rule) | AccessDecision::Ask(rule)) =
        decision;
    rule.to_string()
}

fn tools_of(server: &ServerName) -> Vec<Arc<ToolSpec>> {
    let schema = json!({ "type": "object", "properties": {
        "id": { "type": "integer" },
        "owner": { "type": "string" },
        "labels": { "type": "array", "items": { "type": "string" } },
        "amount": { "type": "number" },
        "note": { "type": "string" },
    }, "required": ["id", "owner", "amount"] });
    let tool = |number: usize| {
        Arc::new(ToolSpec {
            callable: CallableName::new(format!("mcp__{server}__t{number}")),
            server: server.clone(),
            tool: ToolName::new(format!("t{number}")),
            description: None,
            input_schema: schema.clone().into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        })
    };
    (0..TOOLS_PER_SERVER).map(tool).collect()
}

fn run_of(user: usize) -> RunContext {
    RunContext {
        id: RunId::from_existing("bench"),
        kind: RunKind::Program,
        principal: Arc::new(Principal {
            user: UserName::from_existing(format!("user{user}")),
            groups: [format!("g{}", user % 10), "staff".to_owned()].into(),
        }),
        client: "bench".to_owned(),
        program: Some(Digest::of("")),
        caller: None,
    }
}

/// A thousand policies: for each server one permit, three about arguments and one about the client;
/// for each of 500 users one forbid that another tool is for.
fn policy_text() -> String {
    let mut text = String::new();
    for server in 0..SERVERS {
        text.push_str(&format!(
            "permit(principal in Group::\"staff\", action in Action::\"call\", resource == Server::\"s{server}\");\n"
        ));
        for condition in [
            "context.input.amount.greaterThan(decimal(\"100.0\"))",
            "context.input has labels && context.input.labels.contains(\"secret\")",
            "context.input.owner like \"evil*\" || context.input.id < 0",
        ] {
            text.push_str(&format!(
                "forbid(principal, action == Action::\"mcp__s{server}__t0\", resource) when {{ {condition} }};\n"
            ));
        }
        text.push_str(&format!(
            "forbid(principal, action == Action::\"mcp__s{server}__t1\", resource) when {{ context.client == \"robot\" }};\n"
        ));
    }
    for user in 0..500 {
        text.push_str(&format!(
            "forbid(principal == User::\"other{user}\", action, resource == Server::\"s{}\");\n",
            user % SERVERS
        ));
    }
    text
}
