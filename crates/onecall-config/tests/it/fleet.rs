//! The section `fleet`.

use std::path::Path;
use std::time::Duration;

use onecall_config::{Config, FleetConfig};

use crate::problems::assert_rows;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn fleet(text: &str) -> FleetConfig {
    let environment = |name: &str| match name {
        "ADDRESS" => Some("http://10.0.0.5:8808".to_owned()),
        "FLEET_SECRET" => Some(SECRET.to_owned()),
        _ => None,
    };
    Config::parse(text, Path::new("c.yaml"), &environment).unwrap().fleet.unwrap()
}

#[test]
fn one_configuration_serves_all_gateways() {
    let read = fleet("fleet: { advertise: \"${ADDRESS}\", secret: \"${FLEET_SECRET}\" }");
    assert_eq!((read.advertise.as_str(), read.secret.reveal()), ("http://10.0.0.5:8808", SECRET));
    assert_eq!((read.lease, read.drain), (Duration::from_secs(15), Duration::from_secs(30)));
    assert!(!format!("{read:?}").contains(SECRET));
    let read = fleet(&format!(
        "fleet: {{ advertise: 'https://g.example/', secret: {SECRET}, lease_seconds: 3, drain_seconds: 0 }}"
    ));
    assert_eq!(read.advertise, "https://g.example");
    assert_eq!((read.lease, read.drain), (Duration::from_secs(3), Duration::ZERO));
}

#[test]
fn what_others_cannot_use_is_an_error() {
    assert_rows(&[
        (
            "fleet: { secret: 0123456789abcdef0123456789abcdef }",
            "1:1: fleet needs 'advertise'\n  help: the address at which the other gateways reach this one, as in http://10.0.0.5:8808",
        ),
        (
            "fleet: { advertise: 'http://a:1' }",
            "1:1: fleet needs 'secret'\n  help: the same random text for all gateways, best written as ${FLEET_SECRET}",
        ),
        (
            "fleet: { advertise: 'http://a:1', secret: short }",
            "1:43: 'secret' in fleet needs at least 32 characters\n  help: `openssl rand -hex 32` makes one",
        ),
        (
            "fleet: { advertise: 'http://a:1/mcp', secret: 0123456789abcdef0123456789abcdef }",
            "1:21: 'advertise' in fleet must be an address without a path\n  help: as in http://10.0.0.5:8808 or https://gateway-1.internal",
        ),
        (
            "fleet: { advertise: 'http://a:1', secret: 0123456789abcdef0123456789abcdef, lease_seconds: 1 }",
            "1:92: 'lease_seconds' in fleet must be a whole number from 3 to 300",
        ),
    ]);
}
