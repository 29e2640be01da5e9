//! One tool call without a program around it.

use onecall_core::{AnswerForm, CallableName, Freshness, ToolCall, ToolError, ToolValue};
use serde_json::value::RawValue;

use crate::Gateway;

impl Gateway {
    /// Executes one tool as if a program had called it: what policy blocks is blocked, and
    /// arguments that cannot fit are not sent. Takes no longer than a program may.
    pub async fn call_tool(
        &self,
        name: &CallableName,
        arguments: Box<RawValue>,
        form: AnswerForm,
    ) -> Result<ToolValue, ToolError> {
        let rules = self.rules();
        let call = ToolCall {
            id: 0,
            name: name.clone(),
            arguments,
            form,
            freshness: Freshness::Any,
            caller: None,
        };
        let host = self.through_cache(rules.runtime.host());
        let patience = rules.runtime.limits().timeout;
        match tokio::time::timeout(patience, host.call(call)).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("no answer within {}s", patience.as_secs_f64());
                Err(ToolError::failed(name, message))
            }
        }
    }
}
