//! Observes the results of tools in order to learn their types. Answers are passed on at once and
//! unchanged.

use std::sync::Arc;

use onecall_core::{AnswerForm, BoxFuture, CallHandler, CallResult, ResolvedCall};

use crate::learned::Learned;

/// Passes calls on to another handler and learns from its answers.
pub(crate) struct Learning {
    inner: Arc<dyn CallHandler>,
    learned: Arc<Learned>,
}

impl Learning {
    /// Creates the layer: results of `inner` are handed to `learned`.
    pub(crate) fn new(inner: Arc<dyn CallHandler>, learned: Arc<Learned>) -> Self {
        Self { inner, learned }
    }
}

impl CallHandler for Learning {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let spec = match &call.tool {
            Ok(spec) if call.form == AnswerForm::Value => Arc::clone(spec),
            _ => return self.inner.call(call),
        };
        Box::pin(async move {
            let answer = self.inner.call(call).await;
            if let Ok(answer) = &answer
                && self.learned.wants(&spec.callable)
            {
                self.learned.learn(&spec, &answer.value);
            }
            answer
        })
    }
}
