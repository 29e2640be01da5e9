//! Finds out where spans are sent: from the configuration, or else from the environment variables
//! of OpenTelemetry.

use std::time::Duration;

use onecall_config::TelemetryConfig;
use reqwest::Url;

/// The path for spans, relative to the URL of a collector.
const TRACES_PATH: &str = "v1/traces";

/// The default URL of a collector.
const DEFAULT_URL: &str = "http://localhost:4318";

/// The default timeout for one batch.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub url: Url,
    /// The timeout for one batch.
    pub timeout: Duration,
}

/// The environment of this process, or one for a test.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether the environment disables the export of spans, whatever the configuration says.
pub(super) fn is_disabled(variable: Variables<'_>) -> bool {
    let says = |name, word: &str| {
        variable(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(word))
    };
    says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none")
}

impl Destination {
    /// Where spans are sent, if anywhere; an error is an invalid URL.
    pub fn find(
        telemetry: &TelemetryConfig,
        variable: Variables<'_>,
    ) -> Result<Option<Self>, String> {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let url = if let Some(otlp) = &telemetry.otlp {
            traces_url("'otlp' in telemetry", otlp)?
        } else if let Some(url) = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            parse_url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &url)?
        } else if let Some(url) = set("OTEL_EXPORTER_OTLP_ENDPOINT") {
            traces_url("OTEL_EXPORTER_OTLP_ENDPOINT", &url)?
        } else if set("OTEL_TRACES_EXPORTER").is_some_and(|name| name.trim() == "otlp") {
            traces_url("", DEFAULT_URL)?
        } else {
            return Ok(None);
        };
        let timeout = set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
            .or_else(|| set("OTEL_EXPORTER_OTLP_TIMEOUT"))
            .and_then(|milliseconds| milliseconds.trim().parse().ok())
            .map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        Ok(Some(Self { url, timeout }))
    }

    /// Scheme, host and port of the URL, which contain no secret.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// The URL for spans below a collector's URL, unless it already is that.
fn traces_url(what: &str, base: &str) -> Result<Url, String> {
    let mut url = parse_url(what, base)?;
    let path = url.path().trim_end_matches('/');
    if !path.ends_with(TRACES_PATH) {
        let path = format!("{path}/{TRACES_PATH}");
        url.set_path(&path);
    }
    Ok(url)
}

fn parse_url(what: &str, text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{what} is not an http:// or https:// address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let telemetry = TelemetryConfig { otlp: otlp.map(str::to_owned) };
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Ok(Destination::find(&telemetry, &variable)?.map(|found| found.url.to_string()))
    }

    #[test]
    fn the_configuration_comes_before_the_variables() {
        const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        let both = [(ENDPOINT, "http://b:1/base/"), (TRACES_ENDPOINT, "http://c:1/as-it-is")];
        let rows = [
            (None, &[] as &[(&str, &str)], None),
            (Some("http://a:1"), &both, Some("http://a:1/v1/traces")),
            (Some("http://a:1/v1/traces"), &[], Some("http://a:1/v1/traces")),
            (None, &both, Some("http://c:1/as-it-is")),
            (None, &both[..1], Some("http://b:1/base/v1/traces")),
            (None, &[(ENDPOINT, " ")], None),
            (None, &[("OTEL_TRACES_EXPORTER", "otlp")], Some("http://localhost:4318/v1/traces")),
            (None, &[("OTEL_TRACES_EXPORTER", "console")], None),
        ];
        for (otlp, variables, expected) in rows {
            let expected = Ok(expected.map(str::to_owned));
            assert_eq!(found(otlp, variables), expected, "{otlp:?} {variables:?}");
        }
        let wrong = found(None, &[(ENDPOINT, "localhost:4318")]);
        assert_eq!(wrong, Err(format!("{ENDPOINT} is not an http:// or https:// address")));
    }

    #[test]
    fn the_environment_can_forbid_it() {
        for (name, value, forbidden) in [
            ("OTEL_SDK_DISABLED", "true", true),
            ("OTEL_SDK_DISABLED", "TRUE", true),
            ("OTEL_SDK_DISABLED", "1", false),
            ("OTEL_TRACES_EXPORTER", "none", true),
            ("OTEL_TRACES_EXPORTER", "otlp", false),
        ] {
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(is_disabled(&variable), forbidden, "{name}={value}");
        }
    }
}
