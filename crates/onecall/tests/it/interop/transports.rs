//! Published servers over the transports that they offer besides stdio.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::listening_server::ListeningServer;
use super::programs::{code, output};
use super::servers::{kubeconfig, kubernetes};
use crate::support::installed::{bounded, npm_package};
use crate::support::{Gateway, Home};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything/dist/index.js";

#[test]
fn streamable_http() {
    check_everything("streamableHttp", "mcp", &["http", "auto"]);
}

#[test]
fn http_with_sse() {
    check_everything("sse", "sse", &["sse", "auto"]);
}

#[test]
fn streamable_http_of_a_server_in_go() {
    let Some(program) = kubernetes() else { return };
    let home = Home::new();
    let server = ListeningServer::start(|port| {
        let mut command = bounded(&program);
        command.args(kubeconfig(&home)).args(["--port", &port.to_string()]);
        command
    });
    assert_eq!(prints(&server, "kubernetes", "http", "mcp"), output("kubernetes"));
}

/// Serves the server `everything` in one way, and reaches it in each of these.
fn check_everything(served: &str, path: &str, transports: &[&str]) {
    let Some(package) = npm_package(EVERYTHING) else { return };
    let server = ListeningServer::start(|port| everything(package, served, port));
    for transport in transports {
        let printed = prints(&server, "everything", transport, path);
        assert_eq!(printed, output("everything"), "{transport}");
    }
}

fn everything((node, main): (PathBuf, PathBuf), served: &str, port: u16) -> Command {
    let mut command = bounded(node);
    command.arg(main).arg(served).env_clear().env("PORT", port.to_string()).env("PASSED", "on");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Runs the program of a server.
fn prints(server: &ListeningServer, name: &str, transport: &str, path: &str) -> String {
    let url = format!("http://127.0.0.1:{}/{path}", server.port);
    let entry = json!({ "name": name, "transport": transport, "url": url });
    Gateway::with_config(&json!({ "servers": [entry] })).prints(&code(name))
}
