//! Tools, users and calls for the tests.

use std::sync::Arc;

use onecall_catalog::{Catalog, ToolDefinition};
use onecall_core::{
    AccessDecision, AccessPolicy, AccessRequest, Digest, Principal, RunContext, RunId, RunKind,
    ServerName, ToolAnnotations, ToolSpec, UserName,
};
use onecall_policy::{Policies, PolicyErrors, PolicyFile, PolicySource, PolicyWarning};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The servers of the tests; `crm` has not listed its tools.
pub fn servers() -> Vec<ServerName> {
    ["github", "bank", "files", "crm"].map(ServerName::new).to_vec()
}

/// A tool with this definition, named as if no other tool had the same name.
pub fn tool(server: &str, name: &str, schema: Value, annotations: Value) -> Arc<ToolSpec> {
    let spec = ToolSpec {
        callable: onecall_core::CallableName::new(format!("mcp__{server}__{name}")),
        server: ServerName::new(server),
        tool: onecall_core::ToolName::new(name),
        description: None,
        input_schema: schema.into(),
        output_schema: None,
        annotations: serde_json::from_value::<ToolAnnotations>(annotations).unwrap(),
    };
    Arc::new(spec)
}

/// The tools of the tests.
pub fn tools() -> Vec<Arc<ToolSpec>> {
    let repository = json!({ "type": "object", "properties": {
        "owner": { "type": "string" },
        "repo": { "type": "string" },
        "labels": { "type": "array", "items": { "type": "string" } },
        "dry-run": { "type": "boolean" },
        "options": { "type": "object" },
        "limit": { "type": ["integer", "null"] },
    }, "required": ["owner", "repo"] });
    let payment = json!({ "type": "object", "properties": {
        "amount": { "type": "number" },
        "cents": { "type": "integer" },
        "to": { "type": "object", "properties": {
            "iban": { "type": "string" }, "name": { "type": "string" },
        }, "required": ["iban"] },
    }, "required": ["amount", "to"] });
    let path = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let reads = json!({ "readOnlyHint": true });
    vec![
        tool("github", "get_repo", repository.clone(), reads.clone()),
        tool("github", "delete_repo", repository, json!({})),
        tool("bank", "pay", payment, json!({ "openWorldHint": true })),
        tool("files", "read", path.clone(), reads),
        tool("files", "write", path, json!({ "destructiveHint": false, "idempotentHint": true })),
    ]
}

/// A function for resources and prompts, as the runtime describes it.
pub fn function(name: &str) -> Arc<ToolSpec> {
    let spec = tool("onecall", name, json!({ "type": "object" }), json!({}));
    let callable = onecall_core::CallableName::new(name);
    Arc::new(ToolSpec { callable, ..(*spec).clone() })
}

/// Tools of one server, with the names that the catalog gives them.
pub fn catalog_tools(server: &str, names: &[&str]) -> Vec<Arc<ToolSpec>> {
    let definition = |name: &&str| ToolDefinition {
        tool: onecall_core::ToolName::new(*name),
        description: None,
        input_schema: json!({ "type": "object", "properties": { "id": { "type": "integer" } } })
            .into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    };
    let definitions = Arc::new(names.iter().map(definition).collect());
    let catalog = Catalog::default().with_tool_lists([(ServerName::new(server), definitions)]);
    catalog.tools().cloned().collect()
}

pub fn parse(text: &str) -> Result<PolicySource, PolicyErrors> {
    PolicySource::parse(vec![PolicyFile { name: "team.cedar".to_owned(), text: text.to_owned() }])
}

/// Policies for the servers and tools of the tests.
pub fn load(text: &str) -> Result<(Policies, Vec<PolicyWarning>), PolicyErrors> {
    Policies::new(parse(text)?, &servers(), &tools())
}

/// Policies that are expected to be valid.
pub fn policies(text: &str) -> Policies {
    load(text).unwrap_or_else(|errors| panic!("{errors}")).0
}

/// A user with groups.
pub fn user(name: &str, groups: &[&str]) -> Principal {
    let user = match name {
        "local" => UserName::local(),
        name => UserName::parse(name).unwrap(),
    };
    Principal { user, groups: groups.iter().map(ToString::to_string).collect() }
}

/// A run of a program by a user.
pub fn run(principal: &Principal) -> RunContext {
    RunContext {
        id: RunId::from_existing("run"),
        kind: RunKind::Program,
        principal: Arc::new(principal.clone()),
        client: "editor".to_owned(),
        program: Some(Digest::of("code")),
        language: onecall_core::Language::Python,
        caller: None,
    }
}

/// The decision about a call, as one line.
pub fn decide(
    policies: &dyn AccessPolicy,
    run: &RunContext,
    tool: &ToolSpec,
    arguments: &str,
) -> String {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    show(&policies.decide(&AccessRequest { run, tool, arguments: &arguments }))
}

pub fn show(decision: &AccessDecision) -> String {
    let (word, rule) = match decision {
        AccessDecision::Allow(rule) => ("allow", rule),
        AccessDecision::Deny(rule) => ("deny", rule),
        AccessDecision::Ask(rule) => ("ask", rule),
    };
    format!("{word}: {rule}")
}
