//! Describes the position of a value in the arguments of a call, for error messages.

use std::fmt::Write;

/// One step on the path to a value.
#[derive(Debug)]
pub(crate) enum PathStep {
    /// The value of this key in an object.
    Key(String),
    /// The item at this index of a list.
    Index(usize),
}

/// Formats a path: `argument 'rows[3].price'`.
pub(crate) fn describe_path(path: &[PathStep]) -> String {
    if path.is_empty() {
        return "the arguments".to_owned();
    }
    let mut description = String::new();
    for step in path {
        // Writing to a string cannot fail.
        _ = match step {
            PathStep::Key(key) if description.is_empty() => write!(description, "{key}"),
            PathStep::Key(key) if is_identifier(key) => write!(description, ".{key}"),
            PathStep::Key(key) => write!(description, "[{key:?}]"),
            PathStep::Index(index) => write!(description, "[{index}]"),
        };
    }
    format!("argument '{description}'")
}

fn is_identifier(key: &str) -> bool {
    !key.starts_with(|first: char| first.is_numeric())
        && key.chars().all(|it| it.is_alphanumeric() || it == '_')
}
