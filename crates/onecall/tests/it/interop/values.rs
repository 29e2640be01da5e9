//! Tools with many return annotations, on the real frameworks, give what is stored of them.

use serde_json::json;

use crate::support::installed::{installed, interop_file};
use crate::support::recorded_values::{check_values, recorded};
use crate::support::{Gateway, Home};

#[test]
fn python_sdk_1() {
    check("ONECALL_INTEROP_SDK_1", "sdk-1");
}

#[test]
fn python_sdk_2() {
    check("ONECALL_INTEROP_SERVERS", "sdk-2");
}

#[test]
fn fastmcp() {
    check("ONECALL_INTEROP_FASTMCP", "fastmcp");
}

fn check(environment: &str, framework: &str) {
    let Some(folder) = installed(environment) else { return };
    let server = json!({
        "name": "v",
        "command": folder.join("bin/python"),
        "args": ["-B", interop_file("values/server.py")],
        "connect_timeout_seconds": 90,
    });
    let mut gateway = Gateway::in_home(Home::with_config(&json!({ "servers": [server] })));
    check_values(&mut gateway, &recorded(framework));
}
