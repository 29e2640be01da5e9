//! Decides which runs are durable: those that may have to ask a person, or all of them. Any other run
//! is a part of its request and pays nothing.

use onecall_core::CallableName;
use onecall_runtime::{Directory, NameLookup, PlanRequest};

use super::RunRequest;
use crate::Gateway;
use crate::rules::ProgramRules;

impl Gateway {
    /// Whether a run has to be durable. Waits for the servers of the tools that it names.
    pub async fn has_to_be_durable(&self, request: &RunRequest) -> bool {
        let Some(runs) = self.durable_runs() else { return false };
        if runs.all_runs {
            return true;
        }
        let rules = self.rules();
        if !rules.runtime.asks() {
            return false;
        }
        match request {
            RunRequest::Program { program, .. } => {
                self.bridge.start_named_in(&program.code);
                rules.runtime.may_ask(program).await
            }
            RunRequest::Plan(plan) => {
                let plan = PlanRequest::read(plan);
                for name in plan.tool_names() {
                    // Which tool a short name means depends on the servers that the plan may use.
                    let is_open = plan.servers.is_some() && !is_callable_name(name);
                    if is_open || may_ask(&rules, name).await {
                        return true;
                    }
                }
                false
            }
            RunRequest::ExposedTool { name, .. } => {
                match rules.runtime.resource_function_may_ask(name) {
                    Some(may_ask) => may_ask,
                    None => may_ask(&rules, name).await,
                }
            }
        }
    }
}

/// Whether calls of the tool with this name may have to ask. For a tool that is not known yet, the
/// defaults of the protocol apply; a short name that several tools have, or none, could mean any tool.
async fn may_ask(rules: &ProgramRules, name: &str) -> bool {
    match rules.directory.find(name).await {
        NameLookup::Tool(spec) => rules.runtime.call_may_ask(&spec),
        _ if is_callable_name(name) => rules.runtime.unknown_call_may_ask(&CallableName::new(name)),
        _ => true,
    }
}

/// Whether a name is a callable name, and not the name that a tool has on its server.
fn is_callable_name(name: &str) -> bool {
    name.starts_with("mcp__")
}
