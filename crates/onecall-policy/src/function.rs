//! The functions by which programs and clients use the resources and prompts of servers, as policies
//! know them.
//!
//! Each function is an action of its own, in the group `resources` or `prompts`, and not in `call`: a
//! policy for the tools of a server does not open the server's resources by accident. The resource of
//! the action is the server that the call names; a call that names none concerns every server.

use std::sync::LazyLock;

use onecall_catalog::name_prefix;
use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::argument_type::{Argument, ArgumentType, Arguments, Untyped};
use crate::json::{self, Json};
use crate::scope::ActionGroup;

/// The server in the definitions of the functions.
const OWN_SERVER: &str = "onecall";

/// A function that programs or clients have beside the tools of servers.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) group: ActionGroup,
    pub(crate) arguments: Arguments,
}

static FUNCTIONS: LazyLock<[Function; 8]> = LazyLock::new(|| {
    let text = |required| Argument { kind: Ok(ArgumentType::Text), required };
    let arguments = |entries: &[(&str, Argument)]| {
        entries.iter().map(|(name, argument)| ((*name).to_owned(), argument.clone())).collect()
    };
    let list = arguments(&[("server", text(false))]);
    let read = arguments(&[("server", text(false)), ("uri", text(true))]);
    let free_form = Argument { kind: Err(Untyped::FreeForm), required: false };
    let prompt = arguments(&[
        ("server", text(true)),
        ("name", text(true)),
        ("arguments", free_form.clone()),
    ]);
    let subscribe = arguments(&[("server", text(true)), ("uri", text(true))]);
    let complete = |subject| {
        arguments(&[
            ("server", text(true)),
            (subject, text(true)),
            ("argument", free_form.clone()),
            ("context", free_form.clone()),
        ])
    };
    let function =
        |name, group, arguments: &Arguments| Function { name, group, arguments: arguments.clone() };
    [
        function("list_resources", ActionGroup::Resources, &list),
        function("list_resource_templates", ActionGroup::Resources, &list),
        function("read_resource", ActionGroup::Resources, &read),
        function("list_prompts", ActionGroup::Prompts, &list),
        function("get_prompt", ActionGroup::Prompts, &prompt),
        function("subscribe_resource", ActionGroup::Resources, &subscribe),
        function("complete_resource", ActionGroup::Resources, &complete("uri")),
        function("complete_prompt", ActionGroup::Prompts, &complete("name")),
    ]
});

impl Function {
    /// All functions.
    pub(crate) fn all() -> &'static [Self] {
        &*FUNCTIONS
    }

    /// The function with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// The function that a definition describes; `None` if it is a tool of a server.
    pub(crate) fn of(spec: &ToolSpec) -> Option<&'static Self> {
        match spec.server.as_str() {
            OWN_SERVER => Self::named(spec.callable.as_str()),
            _ => None,
        }
    }
}

/// The definition of the function with this name, by which decisions about its calls can be explained.
#[must_use]
pub fn function_definition(name: &str) -> Option<ToolSpec> {
    let function = Function::named(name)?;
    let properties: Map<String, Value> = function
        .arguments
        .keys()
        .map(|name| {
            let is_text = matches!(name.as_str(), "server" | "uri" | "name");
            (name.clone(), json!({ "type": if is_text { "string" } else { "object" } }))
        })
        .collect();
    Some(ToolSpec {
        callable: CallableName::new(function.name),
        server: ServerName::new(OWN_SERVER),
        tool: ToolName::new(function.name),
        description: None,
        input_schema: json!({ "type": "object", "properties": properties }).into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    })
}

/// Whether a definition is that of a function of onecall, and not of a tool of a server.
#[must_use]
pub fn is_function(spec: &ToolSpec) -> bool {
    Function::of(spec).is_some()
}

/// The servers that a call of a function concerns: those that its arguments could mean, or all.
pub(crate) fn servers_of_call<'a>(
    arguments: &RawValue,
    servers: &'a [ServerName],
) -> Vec<&'a ServerName> {
    let Ok(Json::Object(entries)) = json::parse(arguments.get()) else { return Vec::new() };
    match entries.iter().find(|(key, _)| key == "server").map(|(_, value)| value) {
        None | Some(Json::Null) => servers.iter().collect(),
        // The bridge accepts the name that a server has in callable names, too.
        Some(Json::Text(name)) => {
            let prefix = format!("mcp__{name}__");
            let is_meant =
                |server: &&ServerName| server.as_str() == name || name_prefix(server) == prefix;
            servers.iter().filter(is_meant).collect()
        }
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_concerns_every_server_that_it_could_mean() {
        let servers = ["git-hub", "git_hub", "jira"].map(ServerName::new);
        let meant = |arguments: &str| -> Vec<String> {
            let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
            servers_of_call(&arguments, &servers).iter().map(ToString::to_string).collect()
        };
        assert_eq!(meant("{}"), ["git-hub", "git_hub", "jira"]);
        assert_eq!(meant(r#"{"server": null}"#), ["git-hub", "git_hub", "jira"]);
        assert_eq!(meant(r#"{"server": "jira"}"#), ["jira"]);
        assert_eq!(meant(r#"{"server": "git-hub"}"#), ["git-hub"]);
        assert_eq!(meant(r#"{"server": "git_hub"}"#), ["git-hub", "git_hub"]);
        for nothing in [
            r#"{"server": "Jira"}"#,
            r#"{"server": 1}"#,
            "[]",
            r#"{"server": "jira", "server": "x"}"#,
        ] {
            assert_eq!(meant(nothing), [""; 0], "{nothing}");
        }
    }
}
