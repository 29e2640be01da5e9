//! Where in the arguments of a call a value is, for messages.

use std::fmt::Write;

/// One step of the way to a value.
#[derive(Debug)]
pub(crate) enum Step {
    /// Into an entry of an object.
    Key(String),
    /// Into an item of a list.
    Index(usize),
}

/// The way to a value: `argument 'rows[3].price'`.
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
