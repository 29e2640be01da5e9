//! A server as a client configures it, with references to variables in onecall's form, `${NAME}`.

use serde_json::{Map, Value, json};

/// An MCP server and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name of the server in the client.
    pub name: String,
    /// How the server is reached.
    pub launch: Launch,
    /// Whether the client has disabled it.
    pub disabled: bool,
    /// The time limit for starting it, in seconds.
    pub connect_timeout: Option<u64>,
    /// The time limit of a call, in seconds.
    pub call_timeout: Option<u64>,
    /// What could not be converted exactly, one sentence each.
    pub notes: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The server is a process to start.
    Command {
        /// The program.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// The environment variables.
        env: Vec<(String, String)>,
        /// The working directory.
        cwd: Option<String>,
    },
    /// The server is at an address.
    Remote {
        /// The address.
        url: String,
        /// The HTTP transport.
        transport: HttpTransport,
        /// The headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// The HTTP transport of a remote server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpTransport {
    /// The transport is not specified.
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events.
    Sse,
}

impl Server {
    /// The entry for onecall's configuration, without the name.
    #[must_use]
    pub fn entry(&self) -> Map<String, Value> {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| _ = entry.insert(key.to_owned(), value);
        match &self.launch {
            Launch::Command { command, args, env, cwd } => {
                put("command", json!(command));
                if !args.is_empty() {
                    put("args", json!(args));
                }
                if !env.is_empty() {
                    put("env", json_object(env));
                }
                if let Some(cwd) = cwd {
                    put("cwd", json!(cwd));
                }
            }
            Launch::Remote { url, transport, headers } => {
                put("url", json!(url));
                match transport {
                    HttpTransport::Auto => {}
                    HttpTransport::Http => put("transport", json!("http")),
                    HttpTransport::Sse => put("transport", json!("sse")),
                }
                if !headers.is_empty() {
                    put("headers", json_object(headers));
                }
            }
        }
        if let Some(seconds) = self.connect_timeout {
            put("connect_timeout_seconds", json!(seconds));
        }
        if let Some(seconds) = self.call_timeout {
            put("call_timeout_seconds", json!(seconds));
        }
        if self.disabled {
            put("disabled", json!(true));
        }
        entry
    }

    /// Whether the entry would start onecall.
    #[must_use]
    pub fn is_onecall(&self, executable: Option<&str>) -> bool {
        let Launch::Command { command, args, .. } = &self.launch else { return false };
        let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_ours = matches!(name, "onecall" | "onecall.exe")
            || executable.is_some_and(|executable| executable == command);
        is_ours && args.first().is_none_or(|first| first == "serve")
    }

    /// Whether both entries mean the same server. A reference to a variable matches any value,
    /// because it may have that value.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        match (&self.launch, &other.launch) {
            (
                Launch::Command { command, args, env, .. },
                Launch::Command {
                    command: other_command, args: other_args, env: other_env, ..
                },
            ) => {
                command == other_command
                    && args.len() == other_args.len()
                    && args.iter().zip(other_args).all(|(one, other)| may_be_equal(one, other))
                    && have_equal_pairs(env, other_env, |one, other| one == other)
            }
            (
                Launch::Remote { url, headers, .. },
                Launch::Remote { url: other_url, headers: other_headers, .. },
            ) => {
                may_be_equal(url, other_url)
                    && have_equal_pairs(headers, other_headers, str::eq_ignore_ascii_case)
            }
            _ => false,
        }
    }

    /// All values that can contain references to variables.
    pub fn string_values(&self) -> impl Iterator<Item = &str> {
        let (first, list, pairs) = match &self.launch {
            Launch::Command { command, args, env, .. } => (command, args.as_slice(), env),
            Launch::Remote { url, headers, .. } => (url, [].as_slice(), headers),
        };
        let pairs = pairs.iter().map(|(_, value)| value.as_str());
        std::iter::once(first.as_str()).chain(list.iter().map(String::as_str)).chain(pairs)
    }

    /// All values that can contain references to variables, for modification.
    pub fn string_values_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (first, list, pairs) = match &mut self.launch {
            Launch::Command { command, args, env, .. } => (command, args.as_mut_slice(), env),
            Launch::Remote { url, headers, .. } => (url, [].as_mut_slice(), headers),
        };
        let pairs = pairs.iter_mut().map(|(_, value)| value);
        std::iter::once(first).chain(list.iter_mut()).chain(pairs)
    }
}

fn json_object(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>().into()
}

fn may_be_equal(one: &str, other: &str) -> bool {
    one == other || one.contains("${") || other.contains("${")
}

fn have_equal_pairs(
    one: &[(String, String)],
    other: &[(String, String)],
    is_same_name: fn(&str, &str) -> bool,
) -> bool {
    one.len() == other.len()
        && one.iter().all(|(name, value)| {
            let found = other.iter().find(|(known, _)| is_same_name(name, known));
            found.is_some_and(|(_, known)| may_be_equal(value, known))
        })
}
