//! Reads a server from a client's entry. Clients share most keys, so one reader handles them all
//! and treats a client specially only where it differs.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::client::Client;
use crate::reference::ReferenceTranslator;
use crate::server::{HttpTransport, Launch, Server};

/// Why an entry cannot be converted into a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum EntryError {
    /// The entry is not a mapping.
    #[error("its entry is not a mapping")]
    NotAMapping,
    /// An extension of the client starts the server.
    #[error("it comes with an extension of {client}")]
    Extension {
        /// The client.
        client: Client,
    },
    /// The entry has neither a command nor an address.
    #[error("it has neither a command nor an address")]
    NoCommandOrAddress,
    /// The entry names a transport that onecall does not support.
    #[error("its transport '{transport}' is not known")]
    UnknownTransport {
        /// The transport as the entry names it.
        transport: String,
    },
}

/// Reads the server in an entry.
pub(crate) fn read_server(
    client: Client,
    project: &str,
    name: &str,
    entry: &Value,
) -> Result<Server, EntryError> {
    let Value::Object(entry) = entry else { return Err(EntryError::NotAMapping) };
    let fields = EntryFields(entry);
    let command = fields.command();
    let own_variables: Vec<String> = command.as_ref().map_or_else(Vec::new, |command| {
        command.env.iter().map(|(name, _)| name.clone()).collect()
    });
    let translator = ReferenceTranslator { client, project, own_variables: &own_variables };
    let launch = match (command, fields.remote(client)?) {
        (Some(command), None) => command.launch(),
        (_, Some(remote)) => remote,
        (None, None) if fields.text("source") == Some("extension") => {
            return Err(EntryError::Extension { client });
        }
        (None, None) => return Err(EntryError::NoCommandOrAddress),
    };
    let mut server = Server {
        name: name.to_owned(),
        launch,
        disabled: fields.is_disabled(),
        connect_timeout: fields.seconds(&[
            ("connect_timeout_seconds", 1.0),
            ("startup_timeout_sec", 1.0),
            ("startup_timeout_ms", 1e3),
            ("connectionTimeout", 1e3),
        ]),
        call_timeout: fields.seconds(&[
            ("call_timeout_seconds", 1.0),
            ("tool_timeout_sec", 1.0),
            ("timeout", 1e3),
        ]),
        notes: Vec::new(),
    };
    let mut notes = Vec::new();
    server.string_values_mut().for_each(|text| *text = translator.translate(text, &mut notes));
    if let Launch::Command { cwd: Some(cwd), .. } = &mut server.launch {
        *cwd = translator.translate(cwd, &mut notes);
    }
    // These references are in onecall's form already, so they are added after the translation.
    fields.add_references(&mut server.launch);
    if entry.contains_key("envFile") {
        notes.push("its 'envFile' is not read; put the variables it needs into 'env'".to_owned());
    }
    if entry.contains_key("headersHelper") {
        notes.push(
            "its 'headersHelper' is not run; put the headers it needs into 'headers'".to_owned(),
        );
    }
    notes.dedup();
    server.notes = notes;
    Ok(server)
}

struct EntryFields<'e>(&'e Map<String, Value>);

struct CommandFields {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    cwd: Option<String>,
}

impl CommandFields {
    fn launch(self) -> Launch {
        let Self { command, args, env, cwd } = self;
        Launch::Command { command, args, env, cwd }
    }
}

impl<'e> EntryFields<'e> {
    fn text(&self, key: &str) -> Option<&'e str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn command(&self) -> Option<CommandFields> {
        match self.0.get("command")? {
            Value::String(command) if !command.is_empty() => Some(CommandFields {
                command: command.clone(),
                args: string_list(self.0.get("args")),
                env: string_pairs(self.0.get("env")),
                cwd: self.text("cwd").map(str::to_owned),
            }),
            // The form that older versions of Zed used.
            Value::Object(inner) => Some(CommandFields {
                command: inner.get("path").and_then(Value::as_str)?.to_owned(),
                args: string_list(inner.get("args")),
                env: string_pairs(inner.get("env")),
                cwd: None,
            }),
            _ => None,
        }
    }

    fn remote(&self, client: Client) -> Result<Option<Launch>, EntryError> {
        let (key, url) = match ["httpUrl", "serverUrl", "url"]
            .into_iter()
            .find_map(|key| Some((key, self.text(key)?)))
        {
            Some(found) => found,
            None => return Ok(None),
        };
        let transport = match (key, self.text("type").or(self.text("transport"))) {
            ("httpUrl", _) => HttpTransport::Http,
            (_, Some("sse")) => HttpTransport::Sse,
            (_, Some("http" | "streamable-http" | "streamableHttp" | "streamable_http")) => {
                HttpTransport::Http
            }
            (_, Some("stdio")) if self.0.contains_key("command") => return Ok(None),
            (_, Some("auto")) => HttpTransport::Auto,
            (_, Some(other)) => {
                return Err(EntryError::UnknownTransport { transport: other.to_owned() });
            }
            ("url", None) if client == Client::Gemini => HttpTransport::Sse,
            (_, None) => HttpTransport::Auto,
        };
        let headers = self.0.get("headers").or_else(|| self.0.get("http_headers"));
        let options = self.0.get("requestOptions").and_then(|options| options.get("headers"));
        let headers = string_pairs(headers.or(options));
        Ok(Some(Launch::Remote { url: url.to_owned(), transport, headers }))
    }

    /// Adds references for variables that Codex lists by name only.
    fn add_references(&self, launch: &mut Launch) {
        match launch {
            Launch::Command { env, .. } => {
                for item in self.0.get("env_vars").and_then(Value::as_array).into_iter().flatten() {
                    let name = item.as_str().or_else(|| item.get("name")?.as_str());
                    if let Some(name) = name
                        && !env.iter().any(|(known, _)| known == name)
                    {
                        env.push((name.to_owned(), format!("${{{name}}}")));
                    }
                }
            }
            Launch::Remote { headers, .. } => {
                for (header, variable) in string_pairs(self.0.get("env_http_headers")) {
                    headers.push((header, format!("${{{variable}}}")));
                }
                if let Some(variable) = self.text("bearer_token_env_var") {
                    headers.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
                }
            }
        }
    }

    fn is_disabled(&self) -> bool {
        let flag = |key: &str| self.0.get(key).and_then(Value::as_bool);
        flag("disabled") == Some(true) || flag("enabled") == Some(false)
    }

    /// The first of these durations that is present, in whole seconds.
    fn seconds(&self, keys: &[(&str, f64)]) -> Option<u64> {
        let (value, units_per_second) = keys.iter().find_map(|(key, units_per_second)| {
            let value = self.0.get(*key)?.as_f64()?;
            (value > 0.0).then_some((value, *units_per_second))
        })?;
        let seconds = (value / units_per_second).ceil();
        // A value of more than a day is not plausible.
        (1..=86_400_u32).contains(&(seconds as u32)).then_some(u64::from(seconds as u32))
    }
}

fn string_list(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(scalar_text).collect()
}

fn string_pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), scalar_text(value)?))).collect()
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(boolean) => Some(boolean.to_string()),
        _ => None,
    }
}
