//! The schema of the configuration: every key with its type, its default and a description. The
//! reader takes the key names from here; editors get it as JSON Schema, people as tables.

mod json;
mod keys;
mod tables;

pub(crate) use keys::{
    APPROVALS, CACHE, CONFIGURATION, EXECUTION, FLEET, GENERATE, LIMITS, LOCAL_TOOL, OAUTH, OIDC,
    PROXY, SERVER, SESSIONS, STORE, TELEMETRY, TOOLS, USERS, WEBHOOK, WORKSPACE,
};

pub use json::json_schema;
pub use tables::markdown_reference;

/// One key of a section.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    kind: ValueKind,
    /// The default value as it would be written, or a description in parentheses.
    default: &'static str,
    description: &'static str,
}

/// The type of a value.
enum ValueKind {
    /// A text; `${VAR}` is expanded where the reader supports variables.
    Text,
    /// A text, or a number or a boolean that is used as it is written.
    AnyScalar,
    /// The path of a file or a folder.
    Path,
    Boolean,
    Integer {
        min: u64,
        max: u64,
    },
    /// A number of seconds above zero, at most a day.
    Seconds,
    Choice(&'static [&'static str]),
    /// A list of callable names in which `*` matches anything.
    Patterns,
    List(&'static Self),
    /// A mapping with keys that the author chooses.
    Mapping(&'static Self),
    /// A mapping with patterns over callable names as keys.
    PatternMapping(&'static Self),
    Section(&'static [Key]),
    /// A list of sections with a `name`, or a mapping of names to sections.
    EntryListOrMapping(&'static [Key]),
    /// A mapping of names to sections.
    EntryMapping(&'static [Key]),
    /// A JSON Schema.
    Schema,
}
