//! The entrants of the comparison: the limit, onecall with each of its engines, and other servers.

use std::process::Command;

use serde_json::json;

use super::dialect::Dialect;
use crate::peers::Peer;
use crate::subject::Subject;

/// One column of the table.
pub struct Entrant {
    pub name: &'static str,
    /// A description for readers of the table.
    pub about: String,
    /// The dialect of its programs; `None` for the limit, which runs no programs.
    pub dialect: Option<Dialect>,
    pub kind: Kind,
}

/// What is started for an entrant.
pub enum Kind {
    Limit,
    /// onecall with this engine.
    Onecall(&'static str),
    Peer(Peer),
}

/// The entrants that are available, and why others are not.
pub struct Entrants {
    pub present: Vec<Entrant>,
    pub absent: Vec<String>,
}

impl Entrants {
    pub fn gather(subject: &Subject) -> Self {
        let mut all = Self { present: Vec::new(), absent: Vec::new() };
        all.add(
            "limit",
            "a bare client straight to the server: the calls alone, no program",
            None,
            Kind::Limit,
        );
        let engine = "onecall, the embedded Python, jailed";
        all.add("onecall python", engine, Some(Dialect::Python), Kind::Onecall("python"));
        match &subject.python {
            Ok(python) => {
                let engine = format!("onecall, CPython {}, jailed", python.version);
                all.add("onecall cpython", engine, Some(Dialect::Python), Kind::Onecall("cpython"));
            }
            Err(error) => all.absent.push(format!("onecall with the engine `cpython`: {error}")),
        }
        let engine = "onecall, TypeScript on QuickJS, jailed";
        all.add("onecall typescript", engine, Some(Dialect::TypeScript), Kind::Onecall("auto"));
        all.invite(
            "SDK exec",
            "the least that runs programs on the official Python SDK: `exec` in the server's own process, no sandbox",
            Dialect::Python,
            Peer::sdk(),
        );
        all.invite(
            "FastMCP code mode",
            "FastMCP's code mode in front of the same server: an interpreter for a subset of Python; its limits of 50 calls, 30 s and 100 MB lifted",
            Dialect::CallTool,
            Peer::fastmcp(),
        );
        all.invite(
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
        kind: Kind,
    ) {
        self.present.push(Entrant { name, about: about.into(), dialect, kind });
    }

    fn invite(
        &mut self,
        name: &'static str,
        about: &str,
        dialect: Dialect,
        peer: Result<Peer, String>,
    ) {
        match peer {
            Ok(peer) => {
                let about = format!("{}: {about}", peer.version);
                self.add(name, about, Some(dialect), Kind::Peer(peer));
            }
            Err(error) => self.absent.push(format!("{name}: could not be installed ({error})")),
        }
    }
}

impl Entrant {
    /// The command that starts it in front of a fixture server with these flags.
    pub fn command(&self, subject: &Subject, flags: &[&str]) -> Result<Command, String> {
        match &self.kind {
            Kind::Limit => {
                let mut command = Command::new(&subject.fixture);
                command.args(flags);
                Ok(command)
            }
            Kind::Onecall(engine) => {
                let servers = json!([subject.server("fixture", flags)]);
                let name = format!("field-{engine}-{}", flags.join(""));
                subject.serve_config(&name, json!({ "engine": engine, "servers": servers }))
            }
            Kind::Peer(peer) => Ok(peer.command(&subject.fixture, flags)),
        }
    }
}
