//! The container image asks whether its gateway is alive.

use std::path::Path;
use std::process::Command;

use crate::support::http_gateway::HttpGateway;

#[test]
fn the_health_check_of_the_image_asks_the_gateway() {
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Dockerfile");
    let dockerfile = std::fs::read_to_string(dockerfile).expect("a Dockerfile");
    let (_, check) = dockerfile.split_once("HEALTHCHECK").expect("the image has a check");
    let (_, check) = check.split_once("CMD ").expect("it is a command");
    let check = check.lines().next().expect("it is on one line");
    let check: Vec<String> = serde_json::from_str(check).expect("it is written as JSON");
    let [shell, flag, script] = &check[..] else { panic!("{check:?}") };

    let mut gateway = HttpGateway::new();
    let here = script.replace("/8808 ", &format!("/{} ", gateway.address.port()));
    assert_ne!(&here, script, "it asks at the port of the image");
    let asks = |script: &str| Command::new(shell).args([flag, script]).output().expect("a shell");
    assert!(asks(&here).status.success());
    assert!(!asks(&here.replace("/health", "/elsewhere")).status.success());
    gateway.signal("-TERM");
    gateway.ended();
    assert!(!asks(&here).status.success());
}
