//! What a configuration may say: every key with its type, its default and a word about it.
//! The reader takes the names from here; editors get it as JSON Schema, people as tables.

mod json;
mod keys;
mod tables;

pub(crate) use keys::{
    CACHE, CONFIGURATION, EXECUTION, GENERATE, LIMITS, LOCAL_TOOL, OAUTH, PROXY, SERVER, SESSIONS,
    STORE, TELEMETRY, TOOLS, WORKSPACE,
};

pub use json::json_schema;
pub use tables::reference;

/// One key of a section.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    kind: Kind,
    /// What it means to leave it out, as it would be written, or in words in parentheses.
    default: &'static str,
    about: &'static str,
}

/// What may stand under a key.
enum Kind {
    /// Text; `${VAR}` in it where the reader takes variables.
    Text,
    /// Text, or a number or a boolean that is taken as it is written.
    Written,
    /// A file or a folder.
    Path,
    Flag,
    Whole {
        least: u64,
        most: u64,
    },
    /// Above zero, a day at most.
    Seconds,
    Choice(&'static [&'static str]),
    /// Callable names in which `*` stands for anything.
    Patterns,
    List(&'static Self),
    /// Names of the author's choice.
    Mapping(&'static Self),
    /// Patterns over callable names.
    ByPattern(&'static Self),
    Section(&'static [Key]),
    /// Sections with a `name`, or a mapping of names to sections.
    Entries(&'static [Key]),
    /// A mapping of names to sections.
    Named(&'static [Key]),
    /// A JSON Schema.
    Schema,
}
