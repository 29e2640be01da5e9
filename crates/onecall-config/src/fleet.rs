//! Reads the section `fleet`: several gateways that share one database and stand behind one load
//! balancer.

use std::ops::RangeInclusive;
use std::time::Duration;

use onecall_core::Secret;

use crate::address::http_url;
use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::reader::{self, Entry, Section};
use crate::schema::FLEET;

/// How many characters the shared secret has at least.
const MIN_SECRET_LENGTH: usize = 32;

/// The settings of a gateway that is one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetConfig {
    /// The address at which the other gateways reach this one, without a slash at its end.
    pub advertise: String,
    /// The secret with which gateways prove to each other who they are.
    pub secret: Secret,
    /// How long a gateway that does not respond counts as alive.
    pub lease: Duration,
    /// How long a gateway that is to end lets its requests finish.
    pub drain: Duration,
}

pub(crate) fn read_fleet(
    entry: &Entry<'_>,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<FleetConfig> {
    let section = Section::open(entry.value, "fleet", FLEET, report)?;
    let mut text = |key: &str, help: &str| {
        let what = format!("'{key}' in fleet");
        let Some(node) = section.get(key) else {
            report.add(Problem::new(entry.at, format!("fleet needs '{key}'")).with_help(help));
            return None;
        };
        let text = reader::text(node, &what, report)?;
        let text = reader::check_expanded(node, &what, expand(text, environment), report)?;
        Some((node, text))
    };
    let advertise = text(
        "advertise",
        "the address at which the other gateways reach this one, as in http://10.0.0.5:8808",
    );
    let secret =
        text("secret", "the same random text for all gateways, best written as ${FLEET_SECRET}");
    let (advertise, secret) = (
        advertise.and_then(|(node, text)| read_address(node, &text, report)),
        secret.and_then(|(node, text)| read_secret(node, text, report)),
    );
    let mut seconds = |key: &str, range: RangeInclusive<u64>, default: u64| {
        let (node, what) = (section.get(key), format!("'{key}' in fleet"));
        let given = node.and_then(|node| reader::whole_number(node, &what, range, report));
        Duration::from_secs(given.unwrap_or(default))
    };
    let (lease, drain) =
        (seconds("lease_seconds", 3..=300, 15), seconds("drain_seconds", 0..=3600, 30));
    Some(FleetConfig { advertise: advertise?, secret: secret?, lease, drain })
}

fn read_address(node: &Node, text: &str, report: &mut Report) -> Option<String> {
    let url = http_url(text)
        .filter(|url| url.path() == "/" && url.query().is_none() && url.username().is_empty());
    match url {
        Some(url) => Some(url.as_str().trim_end_matches('/').to_owned()),
        None => {
            let message = "'advertise' in fleet must be an address without a path";
            let help = "as in http://10.0.0.5:8808 or https://gateway-1.internal";
            report.add(Problem::new(node.at, message).with_help(help));
            None
        }
    }
}

fn read_secret(node: &Node, text: String, report: &mut Report) -> Option<Secret> {
    if text.chars().count() < MIN_SECRET_LENGTH {
        let message = format!("'secret' in fleet needs at least {MIN_SECRET_LENGTH} characters");
        let help = "`openssl rand -hex 32` makes one";
        report.add(Problem::new(node.at, message).with_help(help));
        return None;
    }
    Some(Secret::new(text))
}
