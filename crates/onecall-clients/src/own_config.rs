//! Edits onecall's own configuration file as text: finds its servers, adds and removes them, and
//! creates a new file.

use serde_json::Value;

use crate::client::Client;
use crate::client_entry;
use crate::edit::{self, EditError, EntryContent, PathStep};
use crate::section::{FileFormat, SectionShape, ServerSection};
use crate::server::Server;

/// The section in which a text has servers, or into which they would be inserted.
///
/// # Errors
/// If the text cannot be parsed.
pub fn own_config_section(text: &str) -> Result<ServerSection, EditError> {
    let document = edit::read(text, FileFormat::Yaml)?;
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let found =
        ["servers", "mcpServers"].into_iter().find_map(|key| Some((key, document.get(key)?)));
    let (key, shape) = match found {
        Some((key, Value::Object(_))) => (key, SectionShape::Mapping),
        Some(("mcpServers", Value::Null)) => ("mcpServers", SectionShape::Mapping),
        Some((key, _)) => (key, SectionShape::List),
        None if is_json => ("mcpServers", SectionShape::Mapping),
        None => ("servers", SectionShape::List),
    };
    // To the YAML editor, a list in JSON is a list in brackets.
    let format =
        if is_json && shape == SectionShape::Mapping { FileFormat::Json } else { FileFormat::Yaml };
    Ok(ServerSection::new(format, &[key], shape))
}

/// The servers in a text, without invalid entries.
///
/// # Errors
/// If the text cannot be parsed.
pub fn own_config_servers(text: &str) -> Result<Vec<Server>, EditError> {
    let section = own_config_section(text)?;
    let document = edit::read(text, section.format)?;
    // The keys of Claude Code are the most similar to those of onecall.
    let read = |(name, entry): (&str, &Value)| {
        client_entry::read_server(Client::ClaudeCode, "", name, entry).ok()
    };
    Ok(edit::entries(&document, &section).into_iter().filter_map(read).collect())
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
        let content = EntryContent::Entry(server.entry(), comments.clone());
        text = edit::insert(&text, &own_config_section(&text)?, &server.name, &content)?.0;
    }
    Ok(text)
}

/// Removes a server from `text`.
///
/// # Errors
/// If the text cannot be parsed or edited, or has no such server.
pub fn without_server(text: &str, name: &str) -> Result<String, EditError> {
    let section = own_config_section(text)?;
    Ok(edit::remove(
        text,
        &section,
        name,
        &edit::InsertionTrace::none(&section),
        edit::CommentHandling::Remove,
    )?
    .0)
}

/// Enables or disables a server in `text`.
///
/// # Errors
/// If the text cannot be parsed or edited, or has no such server.
pub fn with_switch(text: &str, name: &str, switch: Switch) -> Result<String, EditError> {
    let section = own_config_section(text)?;
    let document = edit::read(text, section.format)?;
    if !edit::entries(&document, &section).iter().any(|(known, _)| *known == name) {
        return Err(EditError::NotFound { name: name.to_owned() });
    }
    let mut path: Vec<PathStep<'_>> = section.keys.iter().map(|key| PathStep::Key(key)).collect();
    path.push(match section.shape {
        SectionShape::Mapping => PathStep::Key(name),
        SectionShape::List => PathStep::Named(name),
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
# The configuration of onecall: the MCP servers that it bridges, and its other settings.
# ${NAME} is taken from the environment, or from `onecall secrets`. See also `onecall check`,
# `onecall add`, `onecall remove`.
servers:
";
