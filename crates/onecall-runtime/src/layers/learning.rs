//! Observes the results of tools in order to learn their types. Answers are passed on at once and
//! unchanged.

use std::sync::Arc;

use onecall_core::{AnswerForm, BoxFuture, CallHandler, CallResult, ResolvedCall};

use crate::learned_types::LearnedTypes;

/// Passes calls on to another handler and learns from its answers.
pub(crate) struct LearningLayer {
    inner: Arc<dyn CallHandler>,
    learned: Arc<LearnedTypes>,
}

impl LearningLayer {
    /// Creates the layer: results of `inner` are handed to `learned`.
    pub(crate) fn new(inner: Arc<dyn CallHandler>, learned: Arc<LearnedTypes>) -> Self {
        Self { inner, learned }
    }
}

impl CallHandler for LearningLayer {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let spec = match &call.tool {
            Ok(spec) if call.form == AnswerForm::Value => Arc::clone(spec),
            _ => return self.inner.call(call),
        };
        Box::pin(async move {
            let answer = self.inner.call(call).await;
            if let Ok(answer) = &answer
                && self.learned.should_inspect(&spec.callable)
            {
                self.learned.learn(&spec, &answer.value);
            }
            answer
        })
    }
}
