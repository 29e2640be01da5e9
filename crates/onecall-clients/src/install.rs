//! Adds onecall to a client's configuration file, and removes it again.

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::edit::{self, Comments, Content, EditError, Trace};
use crate::place::Place;
use crate::reading;
use crate::record::{Entered, Moved, Record, hash};
use crate::server::Server;
use crate::spot::{Format, Shape};

/// The name of onecall's entry in clients' files.
const NAME: &str = "onecall";

/// The entry to install in a client's file, and the servers that it replaces there.
pub struct Request<'r> {
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
pub struct Change {
    /// The new text.
    pub text: String,
    /// The record of the change.
    pub record: Record,
}

impl Request<'_> {
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

/// Adds onecall to the text of a file. The entry is inserted at the first of the file's places if
/// `is_home`; bridged servers are removed from all of them. Returns `None` if nothing has to
/// change.
///
/// # Errors
/// If the text cannot be parsed or edited.
pub fn install(
    text: &str,
    places: &[Place],
    is_home: bool,
    request: &Request<'_>,
    before: Option<&Record>,
) -> Result<Option<Change>, EditError> {
    let Some(home) = places.first() else { return Ok(None) };
    let mut record = before.cloned().unwrap_or_default();
    let mut edited = text.to_owned();
    if is_home {
        edited = enter(text, home, &request.entry(home.client), &mut record)?;
    }
    for place in places {
        let document = edit::read(&edited, place.spot.format)?;
        let bridged: Vec<String> = edit::entries(&document, &place.spot)
            .into_iter()
            .filter(|(name, entry)| is_bridged(place.client, name, entry, request))
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in bridged {
            let trace = Trace::none(&place.spot);
            let (without, taken) =
                edit::remove(&edited, &place.spot, &name, &trace, Comments::Take)?;
            edited = without;
            record.moved.retain(|moved| moved.name != name || moved.spot != place.spot);
            record.moved.push(Moved { spot: place.spot.clone(), name, text: taken });
        }
    }
    if edited == text {
        return Ok(None);
    }
    record.after = hash(&edited);
    Ok(Some(Change { text: edited, record }))
}

fn enter(
    text: &str,
    place: &Place,
    entry: &Map<String, Value>,
    record: &mut Record,
) -> Result<String, EditError> {
    let spot = &place.spot;
    let started = match text.trim().is_empty() && spot.shape == Shape::List {
        // A file of Continue must name its schema.
        true => "name: onecall\nversion: 0.0.1\nschema: v1\n".to_owned(),
        false => text.to_owned(),
    };
    let document = edit::read(&started, spot.format)?;
    let entries = edit::entries(&document, spot);
    let mut known = Trace::none(spot);
    let mut body = started.clone();
    let mut entry = entry.clone();
    if let Some((_, found)) = entries.iter().find(|(name, _)| *name == NAME) {
        let is_ours = reading::server(place.client, "", NAME, found)
            .is_ok_and(|server| server.is_onecall(entry.get("command").and_then(Value::as_str)));
        if !is_ours {
            return Err(EditError::Taken { name: NAME.to_owned() });
        }
        if has(found, &entry) {
            return Ok(text.to_owned());
        }
        if let Some(entered) = record.entry.as_ref().filter(|entered| entered.spot == *spot) {
            known = entered.trace.clone();
        }
        keep_additions(&mut entry, found, spot.shape);
        body = edit::remove(&started, spot, NAME, &known, Comments::Leave)?.0;
    }
    let (edited, trace) = edit::insert(&body, spot, NAME, &Content::Entry(entry, Vec::new()))?;
    record.entry = Some(Entered { spot: spot.clone(), trace });
    Ok(edited)
}

/// Copies fields that the user has added to the existing entry, such as variables, to the new one.
fn keep_additions(entry: &mut Map<String, Value>, found: &Value, shape: Shape) {
    for (key, value) in found.as_object().into_iter().flatten() {
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        let is_name = key == "name" && shape == Shape::List;
        if !is_name && entry.get(key).is_none_or(is_empty) {
            entry.insert(key.clone(), value.clone());
        }
    }
}

/// Whether an entry contains all these values; further fields of the user are accepted.
fn has(found: &Value, wanted: &Map<String, Value>) -> bool {
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
    places: &[Place],
    record: Option<&Record>,
) -> Result<Option<String>, EditError> {
    let mut edited = text.to_owned();
    for place in places {
        let spot = &place.spot;
        let document = edit::read(&edited, spot.format)?;
        let ours: Vec<String> = edit::entries(&document, spot)
            .into_iter()
            .filter(|(name, entry)| {
                let server = reading::server(place.client, "", name, entry);
                server.is_ok_and(|server| server.is_onecall(None))
                    || *name == NAME && record.is_some_and(|record| record.entry.is_some())
            })
            .map(|(name, _)| name.to_owned())
            .collect();
        let entered = record.and_then(|record| record.entry.as_ref());
        let trace = entered.filter(|entered| entered.spot == *spot).map(|entered| &entered.trace);
        let none = Trace::none(spot);
        for name in ours {
            let trace = trace.filter(|_| name == NAME).unwrap_or(&none);
            edited = edit::remove(&edited, spot, &name, trace, Comments::Leave)?.0;
        }
        let moved = record.map(|record| record.moved.as_slice()).unwrap_or_default();
        for Moved { name, text, .. } in moved.iter().filter(|moved| moved.spot == *spot) {
            match edit::insert(&edited, spot, name, &Content::Verbatim(text.clone())) {
                Ok((with, _)) => edited = with,
                // The user has already restored an entry with this name.
                Err(EditError::Taken { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok((edited != text).then_some(edited))
}

fn is_bridged(client: Client, name: &str, entry: &Value, request: &Request<'_>) -> bool {
    reading::server(client, request.project, name, entry)
        .is_ok_and(|server| request.bridged.iter().any(|known| known.leads_to_same(&server)))
}

/// Whether a file that onecall created contains only what onecall wrote.
#[must_use]
pub fn is_left_empty(text: &str, format: Format) -> bool {
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
