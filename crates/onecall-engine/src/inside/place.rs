//! Describes the position of a value in the arguments of a call, for error messages.

use std::fmt::Write;

/// One step on the path to a value.
#[derive(Debug)]
pub(crate) enum Step {
    /// The value of this key in an object.
    Key(String),
    /// The item at this index of a list.
    Index(usize),
}

/// Formats a path: `argument 'rows[3].price'`.
pub(crate) fn place(path: &[Step]) -> String {
    if path.is_empty() {
        return "the arguments".to_owned();
    }
    let mut place = String::new();
    for step in path {
        // Writing to a string cannot fail.
        _ = match step {
            Step::Key(key) if place.is_empty() => write!(place, "{key}"),
            Step::Key(key) if is_identifier(key) => write!(place, ".{key}"),
            Step::Key(key) => write!(place, "[{key:?}]"),
            Step::Index(index) => write!(place, "[{index}]"),
        };
    }
    format!("argument '{place}'")
}

fn is_identifier(key: &str) -> bool {
    !key.starts_with(|first: char| first.is_numeric())
        && key.chars().all(|it| it.is_alphanumeric() || it == '_')
}
