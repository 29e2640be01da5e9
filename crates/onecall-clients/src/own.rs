//! Edits onecall's own configuration file as text: finds its servers, adds and removes them, and
//! creates a new file.

use serde_json::Value;

use crate::client::Client;
use crate::edit::{self, Content, EditError, Step};
use crate::reading;
use crate::server::Server;
use crate::spot::{Format, Shape, Spot};

/// The spot at which a text has servers, or at which they would be inserted.
///
/// # Errors
/// If the text cannot be parsed.
pub fn own_spot(text: &str) -> Result<Spot, EditError> {
    let document = edit::read(text, Format::Yaml)?;
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let found =
        ["servers", "mcpServers"].into_iter().find_map(|key| Some((key, document.get(key)?)));
    let (key, shape) = match found {
        Some((key, Value::Object(_))) => (key, Shape::Mapping),
        Some(("mcpServers", Value::Null)) => ("mcpServers", Shape::Mapping),
        Some((key, _)) => (key, Shape::List),
        None if is_json => ("mcpServers", Shape::Mapping),
        None => ("servers", Shape::List),
    };
    // To the YAML editor, a list in JSON is a list in brackets.
    let format = if is_json && shape == Shape::Mapping { Format::Json } else { Format::Yaml };
    Ok(Spot::new(format, &[key], shape))
}

/// The servers in a text, without invalid entries.
///
/// # Errors
/// If the text cannot be parsed.
pub fn own_servers(text: &str) -> Result<Vec<Server>, EditError> {
    let spot = own_spot(text)?;
    let document = edit::read(text, spot.format)?;
    // The keys of Claude Code are the most similar to those of onecall.
    let read =
        |(name, entry): (&str, &Value)| reading::server(Client::ClaudeCode, "", name, entry).ok();
    Ok(edit::entries(&document, &spot).into_iter().filter_map(read).collect())
}

/// Adds these servers to `text`, each with comments above it.
///
/// # Errors
/// If the text cannot be parsed or edited, or already has a server with one of the names.
pub fn with_servers(text: &str, servers: &[(&Server, Vec<String>)]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    if text.trim().is_empty() {
        text = NEW_FILE.to_owned();
    }
    for (server, comments) in servers {
        let content = Content::Entry(server.entry(), comments.clone());
        text = edit::insert(&text, &own_spot(&text)?, &server.name, &content)?.0;
    }
    Ok(text)
}

/// Removes a server from `text`.
///
/// # Errors
/// If the text cannot be parsed or edited, or has no such server.
pub fn without_server(text: &str, name: &str) -> Result<String, EditError> {
    let spot = own_spot(text)?;
    Ok(edit::remove(text, &spot, name, &edit::Trace::none(&spot), edit::Comments::Take)?.0)
}

/// Enables or disables a server in `text`.
///
/// # Errors
/// If the text cannot be parsed or edited, or has no such server.
pub fn with_switch(text: &str, name: &str, switch: Switch) -> Result<String, EditError> {
    let spot = own_spot(text)?;
    let document = edit::read(text, spot.format)?;
    if !edit::entries(&document, &spot).iter().any(|(known, _)| *known == name) {
        return Err(EditError::Absent { name: name.to_owned() });
    }
    let mut path: Vec<Step<'_>> = spot.keys.iter().map(|key| Step::Key(key)).collect();
    path.push(match spot.shape {
        Shape::Mapping => Step::Key(name),
        Shape::List => Step::Named(name),
    });
    match switch {
        Switch::Off => edit::set_field(text, &path, DISABLED, Some(&Value::Bool(true))),
        Switch::On => edit::set_field(text, &path, DISABLED, None)
            .or_else(|_| edit::set_field(text, &path, DISABLED, Some(&Value::Bool(false)))),
    }
}

/// Whether a server is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The server is enabled.
    On,
    /// The server stays in the configuration but is not started.
    Off,
}

const DISABLED: &str = "disabled";

const NEW_FILE: &str = "\
# The MCP servers that onecall bridges, and everything else it can be told.
# ${NAME} is taken from the environment, or from `onecall secrets`. See also `onecall check`,
# `onecall add`, `onecall remove`.
servers:
";
