//! Adds onecall to a client's configuration file, and removes it again.

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::client_entry;
use crate::edit::{self, CommentHandling, EditError, EntryContent, InsertionTrace};
use crate::location::ClientFileLocation;
use crate::record::{InsertedEntry, InstallRecord, RemovedEntry, hash};
use crate::section::{FileFormat, SectionShape};
use crate::server::Server;

/// The name of onecall's entry in clients' files.
const NAME: &str = "onecall";

/// The entry to install in a client's file, and the servers that it replaces there.
pub struct InstallRequest<'r> {
    /// The program to start.
    pub command: &'r str,
    /// The arguments of the program.
    pub args: &'r [String],
    /// The environment variables for the program.
    pub env: &'r [(String, String)],
    /// The variables that onecall's configuration refers to.
    pub variables: &'r [String],
    /// Servers that onecall bridges, to be removed from the client's file; empty if they should
    /// stay.
    pub bridged: &'r [Server],
    /// The folder of the current project.
    pub project: &'r str,
}

/// A changed text.
#[derive(Debug, PartialEq, Eq)]
pub struct InstallChange {
    /// The new text.
    pub text: String,
    /// The record of the change.
    pub record: InstallRecord,
}

impl InstallRequest<'_> {
    /// The entry in the form that this client uses.
    #[must_use]
    pub fn entry(&self, client: Client) -> Map<String, Value> {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| _ = entry.insert(key.to_owned(), value);
        match client {
            Client::ClaudeCode | Client::VsCode => put("type", json!("stdio")),
            // Older versions require this key.
            Client::Zed => put("source", json!("custom")),
            _ => {}
        }
        put("command", json!(self.command));
        put("args", json!(self.args));
        let env: Map<String, Value> =
            self.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        if client == Client::Zed || !env.is_empty() {
            put("env", json!(env));
        }
        match client {
            // Codex passes on only the variables that are named.
            Client::Codex if !self.variables.is_empty() => put("env_vars", json!(self.variables)),
            _ => {}
        }
        entry
    }
}

/// Adds onecall to the text of a file. The entry is inserted at the first of the file's locations if
/// `inserts_entry`; bridged servers are removed from all of them. Returns `None` if nothing has to
/// change.
///
/// # Errors
/// If the text cannot be parsed or edited.
pub fn install(
    text: &str,
    locations: &[ClientFileLocation],
    inserts_entry: bool,
    request: &InstallRequest<'_>,
    before: Option<&InstallRecord>,
) -> Result<Option<InstallChange>, EditError> {
    let Some(target) = locations.first() else { return Ok(None) };
    let mut record = before.cloned().unwrap_or_default();
    let mut edited = text.to_owned();
    if inserts_entry {
        edited = insert_entry(text, target, &request.entry(target.client), &mut record)?;
    }
    for location in locations {
        let document = edit::read(&edited, location.section.format)?;
        let bridged: Vec<String> = edit::entries(&document, &location.section)
            .into_iter()
            .filter(|(name, entry)| is_bridged(location.client, name, entry, request))
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in bridged {
            let trace = InsertionTrace::none(&location.section);
            let (without, removed) =
                edit::remove(&edited, &location.section, &name, &trace, CommentHandling::Remove)?;
            edited = without;
            record.moved.retain(|moved| moved.name != name || moved.spot != location.section);
            record.moved.push(RemovedEntry { spot: location.section.clone(), name, text: removed });
        }
    }
    if edited == text {
        return Ok(None);
    }
    record.after = hash(&edited);
    Ok(Some(InstallChange { text: edited, record }))
}

fn insert_entry(
    text: &str,
    location: &ClientFileLocation,
    entry: &Map<String, Value>,
    record: &mut InstallRecord,
) -> Result<String, EditError> {
    let section = &location.section;
    let started = match text.trim().is_empty() && section.shape == SectionShape::List {
        // A file of Continue must name its schema.
        true => "name: onecall\nversion: 0.0.1\nschema: v1\n".to_owned(),
        false => text.to_owned(),
    };
    let document = edit::read(&started, section.format)?;
    let entries = edit::entries(&document, section);
    let mut known = InsertionTrace::none(section);
    let mut body = started.clone();
    let mut entry = entry.clone();
    if let Some((_, found)) = entries.iter().find(|(name, _)| *name == NAME) {
        let is_ours = client_entry::read_server(location.client, "", NAME, found)
            .is_ok_and(|server| server.is_onecall(entry.get("command").and_then(Value::as_str)));
        if !is_ours {
            return Err(EditError::NameTaken { name: NAME.to_owned() });
        }
        if contains_fields(found, &entry) {
            return Ok(text.to_owned());
        }
        if let Some(inserted) = record.entry.as_ref().filter(|inserted| inserted.spot == *section) {
            known = inserted.trace.clone();
        }
        keep_user_fields(&mut entry, found, section.shape);
        body = edit::remove(&started, section, NAME, &known, CommentHandling::Keep)?.0;
    }
    let (edited, trace) =
        edit::insert(&body, section, NAME, &EntryContent::Entry(entry, Vec::new()))?;
    record.entry = Some(InsertedEntry { spot: section.clone(), trace });
    Ok(edited)
}

/// Copies fields that the user has added to the existing entry, such as variables, to the new one.
fn keep_user_fields(entry: &mut Map<String, Value>, found: &Value, shape: SectionShape) {
    for (key, value) in found.as_object().into_iter().flatten() {
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        let is_name = key == "name" && shape == SectionShape::List;
        if !is_name && entry.get(key).is_none_or(is_empty) {
            entry.insert(key.clone(), value.clone());
        }
    }
}

/// Whether an entry contains all these values; further fields of the user are accepted.
fn contains_fields(found: &Value, wanted: &Map<String, Value>) -> bool {
    let is_default = |key: &str| matches!(key, "type" | "source" | "env");
    wanted.iter().all(|(key, value)| match found.get(key) {
        Some(found) => found == value,
        None => is_default(key),
    })
}

/// Removes onecall from the text of a file, and restores the entries that were removed for it.
/// Returns `None` if nothing has to change.
///
/// # Errors
/// If the text cannot be parsed or edited.
pub fn uninstall(
    text: &str,
    locations: &[ClientFileLocation],
    record: Option<&InstallRecord>,
) -> Result<Option<String>, EditError> {
    let mut edited = text.to_owned();
    for location in locations {
        let section = &location.section;
        let document = edit::read(&edited, section.format)?;
        let ours: Vec<String> = edit::entries(&document, section)
            .into_iter()
            .filter(|(name, entry)| {
                let server = client_entry::read_server(location.client, "", name, entry);
                server.is_ok_and(|server| server.is_onecall(None))
                    || *name == NAME && record.is_some_and(|record| record.entry.is_some())
            })
            .map(|(name, _)| name.to_owned())
            .collect();
        let inserted = record.and_then(|record| record.entry.as_ref());
        let trace =
            inserted.filter(|inserted| inserted.spot == *section).map(|inserted| &inserted.trace);
        let none = InsertionTrace::none(section);
        for name in ours {
            let trace = trace.filter(|_| name == NAME).unwrap_or(&none);
            edited = edit::remove(&edited, section, &name, trace, CommentHandling::Keep)?.0;
        }
        let moved = record.map(|record| record.moved.as_slice()).unwrap_or_default();
        for RemovedEntry { name, text, .. } in moved.iter().filter(|moved| moved.spot == *section) {
            match edit::insert(&edited, section, name, &EntryContent::Verbatim(text.clone())) {
                Ok((with, _)) => edited = with,
                // The user has already restored an entry with this name.
                Err(EditError::NameTaken { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok((edited != text).then_some(edited))
}

fn is_bridged(client: Client, name: &str, entry: &Value, request: &InstallRequest<'_>) -> bool {
    client_entry::read_server(client, request.project, name, entry)
        .is_ok_and(|server| request.bridged.iter().any(|known| known.is_same_server(&server)))
}

/// Whether a file that onecall created contains only what onecall wrote.
#[must_use]
pub fn has_only_onecall_content(text: &str, format: FileFormat) -> bool {
    edit::read(text, format).is_ok_and(|document| {
        let keys = ["name", "version", "schema"];
        let is_ours = |(key, value): (&String, &Value)| match value {
            Value::Object(map) => map.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => keys.contains(&key.as_str()),
        };
        document.as_object().is_none_or(|map| map.iter().all(is_ours))
    })
}
