//! The location of servers within a configuration file: its format, the keys that lead there, and
//! the form of the entries.

use serde::{Deserialize, Serialize};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// JSON, possibly with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl FileFormat {
    /// The name of the format for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

/// The form in which servers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionShape {
    /// A mapping of names to entries.
    Mapping,
    /// A list of entries with a `name`.
    List,
}

/// The location of servers within a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSection {
    /// The format of the file.
    pub format: FileFormat,
    /// The keys that lead to the servers.
    pub keys: Vec<String>,
    /// The form in which the servers are written.
    pub shape: SectionShape,
}

impl ServerSection {
    /// A location below these keys.
    #[must_use]
    pub fn new(format: FileFormat, keys: &[&str], shape: SectionShape) -> Self {
        Self { format, keys: keys.iter().map(|key| (*key).to_owned()).collect(), shape }
    }
}
