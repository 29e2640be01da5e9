//! Measures decisions of policies: a thousand policies, ten thousand tools. It prints JSON, the seconds of
//! each round by the name of what was measured, for `cargo xtask bench`. The argument is the number of
//! rounds.

#![expect(clippy::print_stdout, reason = "the benchmark reads what this prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use onecall_core::{
    AccessDecision, AccessPolicy, AccessRequest, CallableName, Digest, Principal, RunContext,
    RunId, RunKind, ServerName, ToolAnnotations, ToolName, ToolSpec, UserName,
};
use onecall_policy::{Policies, PolicyFile, PolicySource};
use serde_json::json;
use serde_json::value::RawValue;

const SERVERS: usize = 100;
const TOOLS_PER_SERVER: usize = 100;
const USERS: usize = 64;

/// Decisions in one sample.
const DECISIONS: usize = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).as_deref().unwrap_or("15").parse()?;
    let servers: Vec<ServerName> =
        (0..SERVERS).map(|server| ServerName::new(format!("s{server}"))).collect();
    let tools: Vec<Arc<ToolSpec>> = servers.iter().flat_map(tools_of).collect();
    let runs: Vec<RunContext> = (0..USERS).map(run_of).collect();
    let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let text = policy_text();
        let file = PolicyFile { name: "bench.cedar".to_owned(), text };
        let source = PolicySource::parse(vec![file])?;
        let count = source.len();
        let (policies, _) = Policies::new(source, &servers, &tools)?;
        let load = start.elapsed().as_secs_f64();
        if count != 1_000 {
            return Err(format!("there are {count} policies").into());
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
        let first = time(&policies, &runs, &tools, others, 2_000)?;
        // Every user and tool that follows has been asked about once.
        for kind in [0, 1] {
            time(&policies, &runs, &tools, of_kind(kind), USERS * SERVERS)?;
        }
        let cached = time(&policies, &runs, &tools, |number| others(number % 2_000), 2_000)?;
        let by_client = time(&policies, &runs, &tools, of_kind(1), DECISIONS)?;
        let by_arguments = time(&policies, &runs, &tools, of_kind(0), DECISIONS)?;
        for (name, seconds) in [
            ("load", load),
            ("first", first),
            ("cached", cached),
            ("by_client", by_client),
            ("by_arguments", by_arguments),
        ] {
            samples.entry(name).or_default().push(seconds);
        }
    }
    println!("{}", json!(samples));
    Ok(())
}

/// The mean time of decisions, all of which must allow the call.
fn time(
    policies: &Policies,
    runs: &[RunContext],
    tools: &[Arc<ToolSpec>],
    tool_of: impl Fn(usize) -> usize,
    count: usize,
) -> Result<f64, Box<dyn Error>> {
    let text =
        r#"{"id": 17, "owner": "acme", "labels": ["a", "b"], "amount": 12.5, "note": "please"}"#;
    let arguments: &RawValue = serde_json::from_str(text)?;
    let start = Instant::now();
    for number in 0..count {
        let (Some(run), Some(tool)) = (runs.get(number % runs.len()), tools.get(tool_of(number)))
        else {
            return Err("there is no such tool".into());
        };
        match policies.decide(&AccessRequest { run, tool, arguments }) {
            AccessDecision::Allow(_) => {}
            other => return Err(format!("{} for {}", tool.callable, reason(&other)).into()),
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
        language: onecall_core::Language::Python,
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
