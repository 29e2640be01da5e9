//! Logs the beginning and the end of each call of a run.

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall};
use tracing::Instrument;

use crate::call_log::LogWriter;

/// Logs the calls of one run.
pub(crate) struct LogLayer<'a, H> {
    inner: H,
    log: LogWriter<'a>,
}

impl<'a, H> LogLayer<'a, H> {
    /// Creates the layer: calls to `inner` are logged in `log`.
    pub(crate) fn new(inner: H, log: LogWriter<'a>) -> Self {
        Self { inner, log }
    }
}

impl<H: CallHandler> CallHandler for LogLayer<'_, H> {
    fn call(&self, mut call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let open = self.log.begin(&mut call);
            let result = self.inner.call(call).instrument(open.span()).await;
            open.end(&result);
            result
        })
    }
}
