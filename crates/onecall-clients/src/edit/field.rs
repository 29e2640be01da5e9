//! Sets one field of a YAML or JSON text, and compares the result with what was meant.

use serde_json::{Value, json};

use super::{EditError, read, split_mark, unusual, yaml};
use crate::spot::Format;

/// A step from a mapping or a list of YAML to something in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The value of this key.
    Key(&'a str),
    /// The item of a list with this `name`.
    Named(&'a str),
}

/// A YAML or JSON text in which the field `key` of the mapping that `path` leads to has this value,
/// or is not there.
///
/// # Errors
/// If it cannot be read, what `path` names is not there, or it cannot be edited safely.
pub fn set_field(
    text: &str,
    path: &[Step<'_>],
    key: &str,
    value: Option<&Value>,
) -> Result<String, EditError> {
    let mut meant = read(text, Format::Yaml)?;
    let (mark, body) = split_mark(text);
    let edited = match value {
        Some(value) => yaml::field::set(body, path, key, value)?,
        None => yaml::field::unset(body, path, key)?,
    };
    let after = read(&edited, Format::Yaml).map_err(|_| unusual("the result is not valid"))?;
    set_in(&mut meant, path, key, value);
    if after != meant {
        return Err(unusual("something else would change"));
    }
    Ok(format!("{mark}{edited}"))
}

fn set_in(document: &mut Value, path: &[Step<'_>], key: &str, value: Option<&Value>) {
    let Some((step, rest)) = path.split_first() else {
        match (document, value) {
            (Value::Object(map), Some(value)) => _ = map.insert(key.to_owned(), value.clone()),
            (Value::Object(map), None) => _ = map.shift_remove(key),
            _ => {}
        }
        return;
    };
    let inner = match (step, document) {
        (Step::Key(step), Value::Object(map)) => {
            let inner = map.entry((*step).to_owned()).or_insert_with(|| json!({}));
            if inner.is_null() {
                *inner = json!({});
            }
            Some(inner)
        }
        (Step::Named(step), Value::Array(items)) => {
            items.iter_mut().find(|item| item.get("name").and_then(Value::as_str) == Some(step))
        }
        _ => None,
    };
    if let Some(inner) = inner {
        set_in(inner, rest, key, value);
    }
}
