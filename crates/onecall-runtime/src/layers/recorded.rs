//! Notes each call for the record of its run.

use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, ToolCall, ToolError, ToolHost, ToolValue,
};

use crate::record::Recording;

/// Passes calls on, and notes them if there is a record to be made.
pub(crate) struct Recorded<'a> {
    inner: &'a dyn ToolHost,
    recording: Option<&'a Recording>,
}

impl<'a> Recorded<'a> {
    /// Notes calls to `inner`.
    pub(crate) fn new(inner: &'a dyn ToolHost, recording: Option<&'a Recording>) -> Self {
        Self { inner, recording }
    }
}

impl ToolHost for Recorded<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        let Some(recording) = self.recording else { return self.inner.resolve(name) };
        self.inner.resolve(name).map(|resolution| {
            if let Resolution::Callable(spec) = &resolution {
                recording.met(spec);
            }
            resolution
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let Some(recording) = self.recording else { return self.inner.call(call) };
        Box::pin(async move {
            let place = recording.call_began(&call);
            let result = self.inner.call(call).await;
            recording.call_ended(place, &result);
            result
        })
    }
}
