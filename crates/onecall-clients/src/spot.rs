//! Where in a file servers stand.

use serde::{Deserialize, Serialize};

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON, with comments and trailing commas if there are some.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

/// What servers are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Names with entries.
    Mapping,
    /// Entries with a `name`.
    List,
}

/// Where in a file servers stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// What the file is written in.
    pub format: Format,
    /// The keys that lead to them.
    pub keys: Vec<String>,
    /// What they are written as.
    pub shape: Shape,
}

impl Spot {
    /// A spot below these keys.
    #[must_use]
    pub fn new(format: Format, keys: &[&str], shape: Shape) -> Self {
        Self { format, keys: keys.iter().map(|key| (*key).to_owned()).collect(), shape }
    }
}
