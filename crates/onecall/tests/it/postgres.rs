//! Gateways and commands on several machines that share a store in PostgreSQL.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::postgres::{PASSWORD, PostgresServer};
use testkit::process::wait_until;

use crate::approvals::files;
use crate::support::{CommandResult, Home, ReceivedMessages, TIMEOUT, finish};

/// The server of all tests, each of which has a database of its own. It ends with this process.
pub(crate) fn server() -> Option<&'static PostgresServer> {
    static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
    SERVER.get_or_init(PostgresServer::start_new).as_ref()
}

/// A machine whose configuration has its store in a database.
struct Machine {
    home: Home,
}

impl Machine {
    /// A machine with the database at `url`, whose configuration has the password in a variable.
    fn new(url: &str, config: Value) -> Self {
        let home = Home::new();
        let mut config = config;
        config["store"] = json!({ "url": url.replace(PASSWORD, "${DATABASE_PASSWORD}") });
        home.write("config.json", config.to_string());
        Self { home }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.onecall_with_config(arguments);
        command.env("DATABASE_PASSWORD", PASSWORD);
        command
    }

    /// Runs a command, which must not show the password.
    fn finish(&self, arguments: &[&str]) -> CommandResult {
        let result = finish(self.command(arguments));
        let shown = [&result.stdout, &result.stderr];
        assert!(!shown.iter().any(|text| text.contains(PASSWORD)), "{result:?}");
        result
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let result = self.finish(arguments);
        serde_json::from_str(&result.stdout).unwrap_or_else(|_| panic!("{result:?}"))
    }
}

#[test]
fn a_run_on_one_machine_is_listed_on_another() {
    let Some(server) = server() else { return };
    let url = server.create_database();
    let [one, other] = [(); 2].map(|()| Machine::new(&url, json!({})));
    let mut agent = Session::open(one.command(&["serve"]));
    let answer = agent.call_tool("execute_program", json!({ "code": "print(6 * 7)" }));
    assert_eq!(answer.text, "[Script executed successfully]\n42\n");
    let mut runs = Value::Null;
    assert!(wait_until(TIMEOUT, || {
        runs = other.json(&["runs", "--json"]);
        runs.as_array().is_some_and(|runs| !runs.is_empty())
    }));
    let run = runs[0]["id"].as_str().expect("an id");
    let shown = other.finish(&["runs", "show", run]);
    assert!(shown.stdout.contains("print(6 * 7)"), "{shown:?}");
    assert!(!one.home.path("home/state/onecall/onecall.db").exists());
}

#[test]
fn an_approval_on_another_machine_reaches_a_waiting_program() {
    let Some(server) = server() else { return };
    let url = server.create_database();
    let log = Home::new();
    let config = json!({
        "servers": [files(&log.text_path("received"))],
        "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 60 },
        "audit": "hash",
    });
    let [one, other] = [(); 2].map(|()| Machine::new(&url, config.clone()));
    let mut agent = Session::open(one.command(&["serve"]));
    let code = "print(await mcp__files__delete(path='/a'))";
    let call = agent.start_call("execute_program", json!({ "code": code }));
    let mut open = Value::Null;
    assert!(wait_until(TIMEOUT, || {
        open = other.json(&["approvals", "list", "--json"]);
        open.as_array().is_some_and(|open| !open.is_empty())
    }));
    let item = open[0]["id"].as_str().unwrap_or_else(|| panic!("{open}"));
    let approved = other.finish(&["approvals", "approve", item]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let answer = agent.finish_call(call);
    assert_eq!(answer.text, "[Script executed successfully]\ndeleted\n");
    assert_eq!(ReceivedMessages::in_file(log.path("received")).calls("delete"), 1);
    let verified = other.finish(&["audit", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let audit = other.finish(&["audit", "--json"]);
    assert!(audit.stdout.contains("mcp__files__delete"), "{audit:?}");
}

#[test]
fn commands_show_the_database_without_its_password() {
    let Some(server) = server() else { return };
    let machine = Machine::new(&server.create_database(), json!({}));
    for arguments in [
        &["users", "add", "anna"][..],
        &["users", "list"],
        &["cache", "stats"],
        &["stats"],
        &["config", "get", "store.url"],
    ] {
        let result = machine.finish(arguments);
        assert_eq!(result.code, Some(0), "{arguments:?}: {result:?}");
    }
    let report = machine.finish(&["doctor"]);
    assert!(report.stdout.contains("postgres://127.0.0.1:"), "{report:?}");
    assert!(report.stdout.contains("schema 6"), "{report:?}");
}

#[test]
fn a_gateway_refuses_a_store_of_a_newer_version() {
    let Some(server) = server() else { return };
    let url = server.create_database();
    let machine = Machine::new(&url, json!({}));
    assert_eq!(machine.finish(&["runs"]).code, Some(0));
    server.execute(&url, "UPDATE onecall.version SET number = 99");
    let refused = machine.finish(&["serve"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let reason = "has version 99, and this onecall supports versions up to 6; update onecall";
    assert!(refused.stderr.contains(reason), "{refused:?}");
}

#[test]
fn a_gateway_starts_without_its_database() {
    let url = format!("postgres://tests:{PASSWORD}@127.0.0.1:1/nothing");
    let machine = Machine::new(&url, json!({}));
    let mut agent = Session::open(machine.command(&["serve"]));
    let answer = agent.call_tool("execute_program", json!({ "code": "print(1)" }));
    assert_eq!(answer.text, "[Script executed successfully]\n1\n");
    let runs = machine.finish(&["runs"]);
    let expected = "error: the store 'postgres://127.0.0.1:1/nothing': no connection: error connecting to \
                    server: Connection refused (os error 111)\n";
    assert_eq!((runs.code, runs.stderr.as_str()), (Some(2), expected));
}

#[test]
fn a_connection_is_encrypted_if_the_certificate_is_trusted() {
    let Some((server, root)) = PostgresServer::start_encrypted() else { return };
    let url = server.create_database().replace("127.0.0.1", "localhost");
    let encrypted = url.replace("sslmode=disable", "sslmode=require");
    let machine = Machine::new(&encrypted, json!({}));
    let list = |trusts_root: bool| {
        let mut command = machine.command(&["users", "list"]);
        if trusts_root {
            command.env("SSL_CERT_FILE", &root);
        }
        finish(command)
    };
    let refused = list(false);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("invalid peer certificate: UnknownIssuer"), "{refused:?}");
    let listed = list(true);
    assert_eq!(listed.code, Some(0), "{listed:?}");
}
