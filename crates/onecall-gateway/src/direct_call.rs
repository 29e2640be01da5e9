//! Single tool calls that generated code or a command makes without a program.

use onecall_core::{AnswerForm, CallableName, Freshness, RunKind, ToolError, ToolValue};
use onecall_runtime::{Directory, Found, Observer, SingleCall};
use serde_json::value::RawValue;

use crate::Gateway;

/// An observer that only names the client of a call.
struct ClientName<'a>(&'a str);

impl Observer for ClientName<'_> {
    fn client(&self) -> String {
        self.0.to_owned()
    }
}

impl Gateway {
    /// Executes one tool as if a program had called it: policy applies, and arguments that cannot
    /// fit are not sent. The record of the call names `client`.
    pub async fn call_tool(
        &self,
        name: &CallableName,
        arguments: Box<RawValue>,
        client: &str,
    ) -> Result<ToolValue, ToolError> {
        let rules = self.rules();
        let (kind, form, freshness) = (RunKind::DirectCall, AnswerForm::Value, Freshness::Any);
        let call = SingleCall { kind, name, arguments, form, freshness };
        Ok(rules.runtime.run_call(call, &ClientName(client)).await?.value)
    }

    /// Finds the callable name of a tool for code that uses the tool's name on its server or in a
    /// client. A name that begins like a callable one is returned as it is.
    pub async fn callable_name(&self, name: &str) -> Result<CallableName, ToolError> {
        let written = CallableName::new(name);
        if name.starts_with("mcp__") {
            return Ok(written);
        }
        let list = |names: Vec<CallableName>| {
            names.iter().map(CallableName::as_str).collect::<Vec<_>>().join(" or ")
        };
        let problem = match self.rules().directory.find(name).await {
            Found::Tool(spec) => return Ok(spec.callable.clone()),
            Found::Blocked => return Err(ToolError::NotAvailable { name: written }),
            Found::Quarantined(why) => format!("it is quarantined: {why}"),
            Found::Ambiguous(names) => format!("several tools have this name: {}", list(names)),
            Found::Unknown(nearest) if nearest.is_empty() => "there is no such tool".to_owned(),
            Found::Unknown(nearest) => {
                format!("there is no such tool. Did you mean: {}?", list(nearest))
            }
        };
        Err(ToolError::failed(&written, problem))
    }

    /// Removes the cached answers of tools whose names contain `text`, and returns their number.
    pub async fn clear_cache(&self, text: &str) -> u64 {
        match &self.shared.cache {
            Some(cache) => cache.clear(text).await,
            None => 0,
        }
    }
}
