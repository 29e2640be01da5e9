//! The environments in which a gateway is attacked: this machine, and containers.

use std::process::Command;

use serde_json::{Value, json};

use super::expectation::Errors;
use crate::support::container::TestContainer;
use crate::support::{Home, fixture};

/// The environment of an attacked gateway.
pub enum AttackEnvironment {
    /// This machine as it is.
    Machine,
    /// An emulation of a container.
    Container(TestContainer),
}

impl AttackEnvironment {
    /// Its name in messages, with what precedes it.
    pub fn name(&self) -> String {
        match self {
            Self::Machine => String::new(),
            Self::Container(container) => format!(" in a container, {}", container.name),
        }
    }

    /// Whether an engine runs programs there. CPython opens files, and without namespaces landlock
    /// is the only wall that says which.
    pub fn runs(&self, engine: &str) -> bool {
        match self {
            Self::Machine => true,
            Self::Container(container) => engine != "cpython" || container.has_landlock(),
        }
    }

    /// The properties that an engine does not have there. Landlock does not hide which files exist.
    pub fn missing_properties(&self, engine: &str) -> &'static [&'static str] {
        match self {
            Self::Container(_) if engine == "cpython" => &["metadata"],
            _ => &[],
        }
    }

    /// Which errors stop attacks there.
    pub fn errors(&self) -> Errors {
        match self {
            Self::Machine => Errors::AsExpected,
            Self::Container(_) => Errors::Any,
        }
    }

    /// The configuration of the gateway there, without what a case adds.
    pub fn config(&self, engine: &str) -> Value {
        let server = match self {
            Self::Machine => fixture("fixture", &[]),
            Self::Container(container) => container.fixture("fixture"),
        };
        // What is kept of runs is on purpose, and would hide what an attack leaves behind.
        let mut config =
            json!({ "servers": [server], "records": "off", "learn_output_types": false });
        if engine != super::TYPESCRIPT {
            config["engine"] = engine.into();
        }
        config["sandbox_without"] = json!(self.missing_properties(engine));
        config
    }

    /// The command that starts the gateway there.
    pub fn wrap_command(&self, home: &Home, command: Command) -> Command {
        match self {
            Self::Machine => command,
            Self::Container(container) => container.wrap_command(home, &command),
        }
    }
}
