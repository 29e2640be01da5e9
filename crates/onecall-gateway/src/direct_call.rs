//! Single tool calls that generated code or a command makes without a program.

use onecall_core::{AnswerForm, CallableName, Freshness, RunKind, ToolError, ToolValue};
use onecall_runtime::{Directory, NameLookup, Observer, RunOptions, SingleCall};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Gateway;
use crate::durable::{RunAnswer, RunRequest};

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
        let observer = ClientName(client);
        let object: Map<String, Value> = serde_json::from_str(arguments.get()).unwrap_or_default();
        let request = RunRequest::ExposedTool { name: name.as_str().to_owned(), arguments: object };
        let (kind, form, freshness) = (RunKind::DirectCall, AnswerForm::Value, Freshness::Any);
        let call = SingleCall { kind, name, arguments, form, freshness };
        match self.begin_in_place(&request, &observer).await {
            Ok(None) => {
                let options = RunOptions::default();
                Ok(rules.runtime.run_call(call, &options, &observer).await?.value)
            }
            Ok(Some(run)) => {
                let observer = run.observer(&observer);
                let result = rules.runtime.run_call(call, &run.options(), &observer).await;
                let answer = match &result {
                    Ok(answer) => RunAnswer::text(answer.value.encode().1, false),
                    Err(error) => RunAnswer::text(error.to_string(), true),
                };
                run.end(answer).await;
                Ok(result?.value)
            }
            Err(error) => Err(ToolError::failed(name, error.to_string())),
        }
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
            NameLookup::Tool(spec) => return Ok(spec.callable.clone()),
            NameLookup::Blocked => return Err(ToolError::NotAvailable { name: written }),
            NameLookup::Quarantined(why) => format!("it is quarantined: {why}"),
            NameLookup::Ambiguous(names) => {
                format!("several tools have this name: {}", list(names))
            }
            NameLookup::Unknown(nearest) if nearest.is_empty() => {
                "there is no such tool".to_owned()
            }
            NameLookup::Unknown(nearest) => {
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
