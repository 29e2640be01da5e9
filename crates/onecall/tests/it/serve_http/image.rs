//! What the container image expects of the binary.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::http_gateway::HttpGateway;

/// The image sets a variable; then the log is on stdout, one JSON object per line. The commands that a
/// person runs in the container are the same as elsewhere.
#[test]
fn the_log_of_the_image_is_json_on_stdout() {
    let home = Home::new();
    home.write("config.json", json!({ "servers": [] }).to_string());
    let mut serve = home.onecall_with_config(&["serve", "--http", "127.0.0.1:0"]);
    serve.env("ONECALL_CONTAINER", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut gateway = serve.spawn().expect("the gateway starts");
    let stdout = gateway.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("text"));
    let first: Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    assert_eq!(first["level"], "INFO");
    let message = first["message"].as_str().expect("a message");
    assert!(message.starts_with("listening on http://127.0.0.1:"), "{message}");
    let pid = gateway.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("a signal");
    assert!(sent.success());
    for line in lines {
        serde_json::from_str::<Value>(&line).expect("every line is JSON");
    }
    let ended = gateway.wait_with_output().expect("it ends");
    assert_eq!(
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()),
        (Some(0), "")
    );

    let mut other = home.onecall_with_config(&["runs", "show", "none"]);
    let other = other.env("ONECALL_CONTAINER", "1").output().expect("it ends");
    assert_eq!(other.stdout, b"");
    assert!(String::from_utf8_lossy(&other.stderr).starts_with("error: "));
}

#[test]
fn the_health_check_of_the_image_asks_the_gateway() {
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/Dockerfile");
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
