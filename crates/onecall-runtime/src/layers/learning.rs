//! Watches what tools answer, to learn what their results look like. The answer goes on
//! its way at once and untouched.

use std::sync::Arc;

use onecall_core::{
    AnswerForm, BoxFuture, CallableName, Resolution, Resolving, ToolCall, ToolError, ToolHost,
    ToolValue,
};

use crate::learned::Learned;

/// Learns from the answers of another host.
pub(crate) struct Learning {
    inner: Arc<dyn ToolHost>,
    learned: Arc<Learned>,
}

impl Learning {
    /// What `inner` answers is told to `learned`.
    pub(crate) fn new(inner: Arc<dyn ToolHost>, learned: Arc<Learned>) -> Self {
        Self { inner, learned }
    }
}

impl ToolHost for Learning {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        if call.form != AnswerForm::Value {
            return self.inner.call(call);
        }
        Box::pin(async move {
            let name = call.name.clone();
            let answer = self.inner.call(call).await;
            if let Ok(value) = &answer
                && self.learned.wants(&name)
                && let Resolution::Callable(spec) = self.inner.resolve(&name).await
            {
                self.learned.learn(&spec, value);
            }
            answer
        })
    }
}
