//! The entrants of the comparison: the limit, onecall with each of its engines, and other servers.

use std::process::Command;

use serde_json::json;

use super::dialect::Dialect;
use crate::peers::Peer;
use crate::subject::Subject;

// The names of the columns that promises are made about.
pub const PYTHON: &str = "onecall python";
pub const CPYTHON: &str = "onecall cpython";
pub const TYPESCRIPT: &str = "onecall typescript";
pub const EXEC: &str = "SDK exec";

/// One column of the table.
pub struct Entrant {
    pub name: &'static str,
    /// A description for readers of the table.
    pub about: String,
    /// The dialect of its programs; `None` for the limit, which runs no programs.
    pub dialect: Option<Dialect>,
    pub kind: EntrantKind,
}

/// What is started for an entrant.
pub enum EntrantKind {
    Limit,
    /// onecall with this engine.
    Onecall(&'static str),
    Peer(Peer),
}

/// The entrants that are available, and why others are not.
pub struct Entrants {
    pub available: Vec<Entrant>,
    pub unavailable: Vec<String>,
}

impl Entrants {
    pub fn find_available(subject: &Subject) -> Self {
        let mut all = Self { available: Vec::new(), unavailable: Vec::new() };
        all.add(
            "limit",
            "a bare client straight to the server: the calls alone, no program",
            None,
            EntrantKind::Limit,
        );
        let engine = "onecall, the embedded Python, jailed";
        all.add(PYTHON, engine, Some(Dialect::Python), EntrantKind::Onecall("python"));
        match &subject.python {
            Ok(python) => {
                let engine = format!("onecall, CPython {}, jailed", python.version);
                all.add(CPYTHON, engine, Some(Dialect::Python), EntrantKind::Onecall("cpython"));
            }
            Err(error) => {
                all.unavailable.push(format!("onecall with the engine `cpython`: {error}"))
            }
        }
        let engine = "onecall, TypeScript on QuickJS, jailed";
        all.add(TYPESCRIPT, engine, Some(Dialect::TypeScript), EntrantKind::Onecall("auto"));
        all.add_peer(
            EXEC,
            "the least that runs programs on the official Python SDK: `exec` in the server's own process, no sandbox",
            Dialect::Python,
            Peer::sdk(),
        );
        all.add_peer(
            "FastMCP code mode",
            "FastMCP's code mode in front of the same server: an interpreter for a subset of Python; its limits of 50 calls, 30 s and 100 MB lifted",
            Dialect::CallTool,
            Peer::fastmcp(),
        );
        all.add_peer(
            "UTCP code mode",
            "UTCP's code mode, a library, behind a server on the official TypeScript SDK: an isolate of V8 in the server's own process",
            Dialect::Utcp,
            Peer::utcp(),
        );
        all
    }

    fn add(
        &mut self,
        name: &'static str,
        about: impl Into<String>,
        dialect: Option<Dialect>,
        kind: EntrantKind,
    ) {
        self.available.push(Entrant { name, about: about.into(), dialect, kind });
    }

    fn add_peer(
        &mut self,
        name: &'static str,
        about: &str,
        dialect: Dialect,
        peer: Result<Peer, String>,
    ) {
        match peer {
            Ok(peer) => {
                let about = format!("{}: {about}", peer.version);
                self.add(name, about, Some(dialect), EntrantKind::Peer(peer));
            }
            Err(error) => {
                self.unavailable.push(format!("{name}: could not be installed ({error})"))
            }
        }
    }
}

impl Entrant {
    /// The command that starts it in front of a fixture server with these flags.
    pub fn command(&self, subject: &Subject, flags: &[&str]) -> Result<Command, String> {
        match &self.kind {
            EntrantKind::Limit => {
                let mut command = Command::new(&subject.fixture);
                command.args(flags);
                Ok(command)
            }
            EntrantKind::Onecall(engine) => {
                let servers = json!([subject.server("fixture", flags)]);
                let name = format!("field-{engine}-{}", flags.join(""));
                subject.serve_config(&name, json!({ "engine": engine, "servers": servers }))
            }
            EntrantKind::Peer(peer) => Ok(peer.command(&subject.fixture, flags)),
        }
    }
}
