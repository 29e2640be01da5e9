//! Reads the section `telemetry`: where trace spans are sent.

use crate::address::http_url;
use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::reader::{self, Section};
use crate::schema::TELEMETRY;

/// Where trace spans are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The address of a collector for OTLP over HTTP; if absent, the `OTEL_` variables apply.
    pub otlp: Option<String>,
}

pub(crate) fn read_telemetry(
    node: &Node,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<TelemetryConfig> {
    let section = Section::open(node, "telemetry", TELEMETRY, report)?;
    let Some(node) = section.get("otlp") else { return Some(TelemetryConfig::default()) };
    let what = "'otlp' in telemetry";
    let text = reader::text(node, what, report)?;
    let url = reader::check_expanded(node, what, expand(text, environment), report)?;
    if http_url(&url).is_none() {
        let message = format!("{what} must be an http:// or https:// address");
        let help = "a collector usually listens on http://localhost:4318";
        report.add(Problem::new(node.at, message).with_help(help));
        return None;
    }
    Some(TelemetryConfig { otlp: Some(url) })
}
