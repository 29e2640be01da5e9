//! Exports spans to a collector, if one is configured; otherwise nothing is started.

mod collector_client;
mod destination;
mod problem_log;

use std::sync::Arc;
use std::time::Duration;

use onecall_config::TelemetryConfig;
use onecall_core::SPAN_TARGET;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, ResourceDetector as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::sync::watch;
use tracing::Metadata;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use self::collector_client::CollectorClient;
use self::destination::{Destination, is_disabled};
use self::problem_log::ProblemLog;

/// How long the end of a command waits for the last spans.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The default service name of spans.
const SERVICE: &str = "onecall";

/// Exports spans until it is finished.
pub(crate) struct Exporter {
    provider: SdkTracerProvider,
    problem_log: Arc<ProblemLog>,
    shutting_down: watch::Sender<bool>,
}

impl Exporter {
    /// Starts the exporter if one is configured; `telemetry` is called only if the environment does
    /// not disable the export. An error is why a configured exporter cannot start.
    pub(crate) fn start(
        telemetry: impl FnOnce() -> TelemetryConfig,
    ) -> anyhow::Result<Option<Self>> {
        let variable = |name: &str| std::env::var(name).ok();
        if is_disabled(&variable) {
            return Ok(None);
        }
        let destination = Destination::find(&telemetry(), &variable);
        let Some(destination) = destination.map_err(anyhow::Error::msg)? else {
            return Ok(None);
        };
        let problem_log = Arc::new(ProblemLog::new(destination.origin()));
        let (shutting_down, left) = watch::channel(false);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(destination.url.as_str())
            .with_http_client(CollectorClient::new(destination, left, Arc::clone(&problem_log))?)
            .with_protocol(Protocol::HttpBinary)
            // Its pauses could not be interrupted at the end of the process.
            .with_retry_policy(RetryPolicy::disabled())
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        Ok(Some(Self { provider, problem_log, shutting_down }))
    }

    /// A layer that takes only the spans that are meant to be exported.
    pub(crate) fn layer<S>(&self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let is_exported =
            |metadata: &Metadata<'_>| metadata.is_span() && metadata.target() == SPAN_TARGET;
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_context_activation(false)
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(is_exported))
            .boxed()
    }

    /// Sends the last spans, unless the collector takes too long.
    pub(crate) fn finish(self) {
        self.shutting_down.send_replace(true);
        if self.provider.shutdown_with_timeout(FLUSH_TIMEOUT).is_err() {
            self.problem_log
                .log_once(format_args!("no answer within {}s", FLUSH_TIMEOUT.as_secs()));
        }
    }
}

/// The attributes of this process in exported spans.
fn resource() -> Resource {
    let is_set = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    let named = EnvResourceDetector::new().detect().get(&Key::new("service.name")).is_some();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    if is_set || named { resource.build() } else { resource.with_service_name(SERVICE).build() }
}
