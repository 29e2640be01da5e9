//! Watches what tools answer, to learn what their results look like. The answer goes on
//! its way at once and untouched.

use std::sync::Arc;

use onecall_core::{AnswerForm, BoxFuture, CallHandler, CallResult, ResolvedCall};

use crate::learned::Learned;

/// Learns from the answers of another handler.
pub(crate) struct Learning {
    inner: Arc<dyn CallHandler>,
    learned: Arc<Learned>,
}

impl Learning {
    /// Hands what `inner` answers to `learned`.
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
