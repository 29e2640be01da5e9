//! Where spans go, if anywhere: as the configuration says, else the variables that
//! OpenTelemetry has for it.

use std::time::Duration;

use onecall_config::Telemetry;
use reqwest::Url;

/// Where a collector takes spans, below its address.
const TRACES: &str = "v1/traces";

/// Where collectors listen if nobody says otherwise.
const USUAL: &str = "http://localhost:4318";

/// How long a collector may take for one batch, if nobody says otherwise.
const USUAL_PATIENCE: Duration = Duration::from_secs(10);

/// A collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub url: Url,
    /// How long it may take for one batch.
    pub patience: Duration,
}

/// The environment of this process, or one for a test.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether the environment forbids to export spans, whatever the configuration says.
pub(super) fn is_forbidden(variable: Variables<'_>) -> bool {
    let says = |name, word: &str| {
        variable(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(word))
    };
    says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none")
}

impl Destination {
    /// Where spans are to go; an error is an address that cannot be used.
    pub fn find(telemetry: &Telemetry, variable: Variables<'_>) -> Result<Option<Self>, String> {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let url = if let Some(otlp) = &telemetry.otlp {
            below("'otlp' in telemetry", otlp)?
        } else if let Some(url) = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            address("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &url)?
        } else if let Some(url) = set("OTEL_EXPORTER_OTLP_ENDPOINT") {
            below("OTEL_EXPORTER_OTLP_ENDPOINT", &url)?
        } else if set("OTEL_TRACES_EXPORTER").is_some_and(|name| name.trim() == "otlp") {
            below("", USUAL)?
        } else {
            return Ok(None);
        };
        let patience = set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
            .or_else(|| set("OTEL_EXPORTER_OTLP_TIMEOUT"))
            .and_then(|milliseconds| milliseconds.trim().parse().ok())
            .map_or(USUAL_PATIENCE, Duration::from_millis);
        Ok(Some(Self { url, patience }))
    }

    /// Scheme, host and port: what of the address is no secret.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// The place for spans below a collector's address, unless it is that already.
fn below(what: &str, base: &str) -> Result<Url, String> {
    let mut url = address(what, base)?;
    let path = url.path().trim_end_matches('/');
    if !path.ends_with(TRACES) {
        let path = format!("{path}/{TRACES}");
        url.set_path(&path);
    }
    Ok(url)
}

fn address(what: &str, text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{what} is not an http:// or https:// address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let telemetry = Telemetry { otlp: otlp.map(str::to_owned) };
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
            assert_eq!(is_forbidden(&variable), forbidden, "{name}={value}");
        }
    }
}
