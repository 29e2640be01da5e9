//! Calls of the functions for resources and prompts on behalf of a client: each is a run of one call.

use onecall_core::{AnswerForm, CallableName, Freshness, ListKind, RunKind, ToolError, ToolValue};
use onecall_runtime::{Observer, RunOptions, SingleCall};
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::Gateway;
use crate::durable::{RunAnswer, RunRequest};

/// A function for resources and prompts that clients have.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClientFunction {
    List(ListKind),
    ReadResource,
    SubscribeResource,
    CompleteResource,
    GetPrompt,
    CompletePrompt,
}

impl ClientFunction {
    fn name(self) -> &'static str {
        match self {
            Self::List(ListKind::Resources) => "list_resources",
            Self::List(ListKind::ResourceTemplates) => "list_resource_templates",
            Self::List(ListKind::Prompts) => "list_prompts",
            Self::ReadResource => "read_resource",
            Self::SubscribeResource => "subscribe_resource",
            Self::CompleteResource => "complete_resource",
            Self::GetPrompt => "get_prompt",
            Self::CompletePrompt => "complete_prompt",
        }
    }
}

impl Gateway {
    /// Calls a function and returns the answer of the server unchanged. A call that needs an approval
    /// waits for it. Dropping the future cancels the call.
    pub(super) async fn call_function(
        &self,
        function: ClientFunction,
        arguments: Value,
        observer: &dyn Observer,
    ) -> Result<ToolValue, ToolError> {
        let rules = self.rules();
        let name = CallableName::new(function.name());
        let Value::Object(object) = arguments else {
            return Err(ToolError::failed(&name, "its arguments are not an object"));
        };
        let raw =
            to_raw_value(&object).map_err(|error| ToolError::failed(&name, error.to_string()))?;
        let call = SingleCall {
            kind: RunKind::ExposedTool,
            name: &name,
            arguments: raw,
            form: AnswerForm::Untouched,
            freshness: Freshness::New,
        };
        let (resolver, layers) = (&rules.function_resolver, &rules.exposed_layers);
        let request = RunRequest::ExposedTool { name: name.as_str().to_owned(), arguments: object };
        match self.begin_in_place(&request, observer).await {
            Ok(None) => {
                let options = RunOptions::default();
                let run = rules.runtime.run_call_with(call, resolver, layers, &options, observer);
                Ok(run.await?.value)
            }
            Ok(Some(run)) => {
                let (observer, options) = (run.observer(observer), run.options());
                let call = rules.runtime.run_call_with(call, resolver, layers, &options, &observer);
                let result = call.await;
                let answer = match &result {
                    Ok(answer) => RunAnswer::text(answer.value.encode().1, false),
                    Err(error) => RunAnswer::text(error.to_string(), true),
                };
                run.end(answer).await;
                Ok(result?.value)
            }
            Err(error) => Err(ToolError::failed(&name, error.to_string())),
        }
    }
}
