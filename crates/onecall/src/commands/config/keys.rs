//! `onecall config get` and `onecall config set`: single values, by keys with dots.

use std::process::ExitCode;

use anyhow::{Context, ensure};
use onecall_clients::edit::{self, EditError, PathStep, set_field};
use onecall_clients::{FileFormat, SectionShape, own_config_section};
use onecall_config::hide_database_password;
use serde_json::Value;

use crate::commands::editable_config::EditableConfig;
use crate::commands::{note, say};
use crate::terminal::print;

/// Prints a value.
pub(super) fn get(key: &str, own: &EditableConfig) -> anyhow::Result<ExitCode> {
    let mut document =
        edit::read(own.text(), FileFormat::Yaml).map_err(|error| own.edit_error(&error))?;
    if let Some(Value::String(url)) = document.pointer_mut("/store/url") {
        *url = hide_database_password(url);
    }
    let steps = steps(key, own)?;
    let found = steps.iter().try_fold(&document, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Named(name) => value
            .as_array()?
            .iter()
            .find(|item| item.get("name").and_then(Value::as_str) == Some(name)),
    });
    let Some(found) = found else {
        say(&format!(
            "'{key}' is not set in {}; `onecall schema --markdown` lists the keys and their defaults",
            own.path().display()
        ));
        return Ok(ExitCode::FAILURE);
    };
    let text = match found {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(found)?,
        other => other.to_string(),
    };
    print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Sets a value, if the configuration is valid with it.
pub(super) fn set(key: &str, value: &str, own: &EditableConfig) -> anyhow::Result<ExitCode> {
    let steps = steps(key, own)?;
    let Some((PathStep::Key(field) | PathStep::Named(field), path)) = steps.split_last() else {
        return Ok(ExitCode::FAILURE);
    };
    let edited = |value: &Value| {
        let edited = set_field(own.text(), path, field, Some(value));
        let text = edited.map_err(|error| explain(error, own))?;
        own.check(&text)
            .context("nothing was changed, because the configuration would not be valid")?;
        anyhow::Ok(text)
    };
    let parsed = value_of(value);
    // A value that looks like a number may be meant as text.
    let text = edited(&parsed).or_else(|error| match parsed {
        Value::String(_) => Err(error),
        _ => edited(&Value::from(value)).map_err(|_| error),
    })?;
    if text != own.text() {
        own.save(&text)?;
    }
    note(&format!("Set '{key}' to {value} in {}", own.path().display()));
    Ok(ExitCode::SUCCESS)
}

/// The path of a key: `servers.NAME` refers to the server of this name, even in a list.
fn steps<'k>(key: &'k str, own: &EditableConfig) -> anyhow::Result<Vec<PathStep<'k>>> {
    let keys: Vec<&str> = key.split('.').collect();
    ensure!(
        keys.iter().all(|key| !key.is_empty()),
        "'{key}' is not a key: write it like execution.timeout_seconds"
    );
    let section = own_config_section(own.text()).map_err(|error| own.edit_error(&error))?;
    let is_list = |key: &str| {
        section.shape == SectionShape::List
            && section.keys.first().is_some_and(|servers| servers == key)
    };
    let in_list = keys.first().is_some_and(|first| is_list(first));
    let step =
        |(at, key)| if at == 1 && in_list { PathStep::Named(key) } else { PathStep::Key(key) };
    Ok(keys.into_iter().enumerate().map(step).collect())
}

/// A value from the command line, parsed as YAML.
fn value_of(text: &str) -> Value {
    let read = edit::read(&format!("value: {text}\n"), FileFormat::Yaml).ok();
    let value = read.and_then(|mut document| Some(document.get_mut("value")?.take()));
    value.unwrap_or_else(|| Value::from(text))
}

fn explain(error: EditError, own: &EditableConfig) -> anyhow::Error {
    match error {
        EditError::NotEditable { why } => anyhow::anyhow!(
            "'{}' cannot be changed safely here ({why}); run `onecall config edit` instead",
            own.path().display()
        ),
        EditError::NotFound { name } => {
            anyhow::anyhow!("there is no server '{name}' in {}", own.path().display())
        }
        other => own.edit_error(&other),
    }
}
