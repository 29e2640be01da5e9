//! The configuration of each published server, by the name that programs know it by.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::installed::{installed, npm_package};

/// Many servers start at once here, on a machine that has other things to do.
const CONNECT_TIMEOUT: u32 = 90;

/// The server's entry in a configuration, or `None` if it is not installed. Everything it
/// may touch is in `home`.
pub fn entry(name: &str, home: &Home) -> Option<Value> {
    let mut entry = match name {
        "everything" => {
            let mut entry = node("server-everything", &[])?;
            entry["env"] = json!({ "PASSED": "on" });
            entry
        }
        "files" => {
            let folder = home.path("files");
            std::fs::create_dir_all(&folder).expect("a folder");
            node("server-filesystem", &[&folder])?
        }
        "memory" => {
            let mut entry = node("server-memory", &[])?;
            entry["env"] = json!({ "MEMORY_FILE_PATH": home.path("memory.jsonl") });
            entry
        }
        "thinking" => {
            let mut entry = node("server-sequential-thinking", &[])?;
            entry["env"] = json!({ "DISABLE_THOUGHT_LOGGING": "true" });
            entry
        }
        "time" => python("SERVERS", "time", &["--local-timezone", "UTC"])?,
        "git" => python("SERVERS", "git", &[])?,
        "fetch" => python("SERVERS", "fetch", &[])?,
        "sqlite" => python("SDK_1", "sqlite", &["--db-path", &home.text_path("data.sqlite")])?,
        "kubernetes" => json!({ "command": kubernetes()?, "args": kubeconfig(home) }),
        other => panic!("no published server is called {other}"),
    };
    entry["name"] = name.into();
    entry["connect_timeout_seconds"] = CONNECT_TIMEOUT.into();
    Some(entry)
}

/// A server of the reference servers that are written in TypeScript.
fn node(package: &str, arguments: &[&Path]) -> Option<Value> {
    let (node, main) = npm_package(&format!("@modelcontextprotocol/{package}/dist/index.js"))?;
    let mut args = vec![main.as_path()];
    args.extend(arguments);
    Some(json!({ "command": node, "args": args }))
}

/// A server of the reference servers that are written in Python.
fn python(environment: &str, server: &str, arguments: &[&str]) -> Option<Value> {
    let folder = installed(&format!("ONECALL_INTEROP_{environment}"))?;
    let command = folder.join("bin").join(format!("mcp-server-{server}"));
    Some(json!({ "command": command, "args": arguments }))
}

/// The server that is written in Go, which npm has for one kind of machine.
pub fn kubernetes() -> Option<std::path::PathBuf> {
    let package = "node_modules/kubernetes-mcp-server-linux-amd64/bin";
    let folder = installed("ONECALL_INTEROP_NPM")?.join(package);
    let program = folder.join("kubernetes-mcp-server-linux-amd64");
    if !program.exists() {
        eprintln!("skipped: there is no kubernetes-mcp-server for this machine");
        return None;
    }
    Some(program)
}

/// Arguments that name a cluster where nothing answers.
pub fn kubeconfig(home: &Home) -> [String; 2] {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "nowhere", "cluster": { "server": "http://127.0.0.1:9" } }],
        "contexts": [{ "name": "here", "context": { "cluster": "nowhere", "user": "me" } }],
        "current-context": "here",
        "users": [{ "name": "me", "user": {} }],
    });
    home.write("kubeconfig", config.to_string());
    ["--kubeconfig".to_owned(), home.text_path("kubeconfig")]
}
