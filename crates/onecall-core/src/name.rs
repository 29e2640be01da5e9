//! Newtypes for three kinds of names that must never be mixed up: a server's name in the
//! configuration, a tool's name on its server, and the name a program calls.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a name without checking it.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name_type! {
    /// A server's name as its configuration entry spells it.
    ServerName
}

impl ServerName {
    /// The name of the server that provides the local tools; no other server may use it.
    pub const LOCAL: &'static str = "local";
}

name_type! {
    /// A tool's name as its server spells it; it can be any string.
    ToolName
}

name_type! {
    /// The identifier that a program calls: `mcp__<server>__<tool>`. Only the catalog creates it
    /// and keeps it unique.
    CallableName
}

impl Serialize for CallableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CallableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl CallableName {
    /// No tool has a name of more bytes than this; longer ones are not looked up.
    pub const MAX_BYTES: usize = 4 * 1024;
}
