//! Sets one field in a YAML or JSON text, and checks that nothing else has changed.

use serde_json::{Value, json};

use super::{EditError, not_editable, read, split_byte_order_mark, yaml};
use crate::section::FileFormat;

/// A step from a YAML mapping or list to one of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// The value of this key.
    Key(&'a str),
    /// The list item with this `name`.
    Named(&'a str),
}

/// Sets the field `key` of the mapping at `path` to a value, or removes it if the value is `None`.
/// Returns the edited YAML or JSON text.
///
/// # Errors
/// If the text cannot be parsed, `path` does not exist, or the text cannot be edited safely.
pub fn set_field(
    text: &str,
    path: &[PathStep<'_>],
    key: &str,
    value: Option<&Value>,
) -> Result<String, EditError> {
    let mut expected = read(text, FileFormat::Yaml)?;
    let (mark, body) = split_byte_order_mark(text);
    let edited = match value {
        Some(value) => yaml::field::set(body, path, key, value)?,
        None => yaml::field::unset(body, path, key)?,
    };
    let after =
        read(&edited, FileFormat::Yaml).map_err(|_| not_editable("the result is not valid"))?;
    set_in_value(&mut expected, path, key, value);
    if after != expected {
        return Err(not_editable("something else would change"));
    }
    Ok(format!("{mark}{edited}"))
}

fn set_in_value(document: &mut Value, path: &[PathStep<'_>], key: &str, value: Option<&Value>) {
    let Some((step, rest)) = path.split_first() else {
        match (document, value) {
            (Value::Object(map), Some(value)) => _ = map.insert(key.to_owned(), value.clone()),
            (Value::Object(map), None) => _ = map.shift_remove(key),
            _ => {}
        }
        return;
    };
    let inner = match (step, document) {
        (PathStep::Key(step), Value::Object(map)) => {
            let inner = map.entry((*step).to_owned()).or_insert_with(|| json!({}));
            if inner.is_null() {
                *inner = json!({});
            }
            Some(inner)
        }
        (PathStep::Named(step), Value::Array(items)) => {
            items.iter_mut().find(|item| item.get("name").and_then(Value::as_str) == Some(step))
        }
        _ => None,
    };
    if let Some(inner) = inner {
        set_in_value(inner, rest, key, value);
    }
}
