//! Reads one server's entry of a configuration file. Each problem is added to the report, and
//! reading continues.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::nearest::nearest;
use onecall_core::{Secret, ServerName};

use crate::address::http_url;
use crate::document::{Node, Position};
use crate::error::{Problem, Report};
use crate::expand::{Environment, ExpandFn, expand_path};
use crate::local_tools::LocalTool;
use crate::locate::Directories;
use crate::model::{OAuthConfig, RemoteTransport, StdioTransport, Transport};
use crate::oauth;
use crate::pin::pin_file;
use crate::reader::{self, Entry, Section};

pub(crate) struct EntryReader<'n> {
    /// The name of the entry in messages.
    pub(crate) label: String,
    pub(crate) at: Position,
    pub(crate) section: Section<'n>,
    pub(crate) environment: &'n Environment<'n>,
    pub(crate) expand: ExpandFn,
    /// The gateway's environment variables that every entry with a command gets.
    pub(crate) inherited: &'n [String],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TransportKind {
    Stdio,
    Auto,
    Http,
    Sse,
}

impl TransportKind {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "stdio" => Some(Self::Stdio),
            "auto" => Some(Self::Auto),
            // Clients write this name in different ways.
            "http" | "streamable-http" | "streamable_http" | "streamableHttp" => Some(Self::Http),
            "sse" => Some(Self::Sse),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Auto | Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl<'n> EntryReader<'n> {
    /// The server's name and its position: the entry's key, or `name` inside the entry.
    pub(crate) fn name(
        &self,
        key: Option<&Entry<'n>>,
        report: &mut Report,
    ) -> Option<(&'n str, Position)> {
        let inside = self.section.get("name");
        let (name, at) = match (key, inside) {
            (Some(key), None) => (key.key, key.at),
            (Some(key), Some(node)) => {
                if reader::text(node, &self.what("name"), report)? != key.key {
                    let message = format!("{} has another name inside its entry", self.label);
                    let help = "the key is the name; remove 'name'";
                    report.add(Problem::new(node.at, message).with_help(help));
                }
                (key.key, key.at)
            }
            (None, Some(node)) => (reader::text(node, &self.what("name"), report)?, node.at),
            (None, None) => {
                let problem = Problem::new(self.at, "this server has no name");
                report.add(problem.with_help("give it a 'name'"));
                return None;
            }
        };
        if name.trim().is_empty() {
            report.add(Problem::new(at, "a server's name must not be empty"));
            return None;
        }
        if name == LocalTool::SERVER {
            let message = "the server name 'local' is reserved for local tools";
            report.add(Problem::new(at, message).with_help("choose another name"));
            return None;
        }
        Some((name, at))
    }

    pub(crate) fn is_disabled(&self, report: &mut Report) -> bool {
        self.flag("disabled", report)
    }

    pub(crate) fn is_lazy(&self, report: &mut Report) -> bool {
        self.flag("lazy", report)
    }

    /// The variables that a child process gets besides the common base: those that it inherits by
    /// name, if they are set, and those of its own entry.
    pub(crate) fn env(&self, report: &mut Report) -> BTreeMap<String, Secret> {
        let own = self.section.get("env_inherit");
        let own = own.and_then(|node| variable_names(node, &self.what("env_inherit"), report));
        let names = self.inherited.iter().chain(own.iter().flatten());
        let inherited = names.filter_map(|name| {
            let value = self.environment.variable(name)?;
            Some((name.clone(), Secret::new(value)))
        });
        let mut env: BTreeMap<String, Secret> = inherited.collect();
        env.extend(self.values("env", is_variable_name, |value| !value.contains('\0'), report));
        env
    }

    /// The file for the server's pins, if the entry asks for pinning.
    pub(crate) fn pins(
        &self,
        name: &ServerName,
        transport: &Transport,
        report: &mut Report,
    ) -> Option<PathBuf> {
        if !self.flag("pin", report) {
            return None;
        }
        let directory =
            Directories::from_environment(&|name| self.environment.variable(name)).pins();
        if directory.is_none() {
            let message = format!(
                "{} needs your state directory, where onecall remembers pinned tools",
                self.what("pin")
            );
            let at = self.section.get("pin").map_or(self.at, |node| node.at);
            report.add(Problem::new(at, message).with_help("set HOME or XDG_STATE_HOME"));
        }
        directory.map(|directory| pin_file(&directory, name, transport))
    }

    fn flag(&self, key: &str, report: &mut Report) -> bool {
        self.section
            .get(key)
            .and_then(|node| reader::boolean(node, &self.what(key), report))
            .unwrap_or(false)
    }

    pub(crate) fn seconds(&self, key: &str, default: u64, report: &mut Report) -> Duration {
        self.optional_seconds(key, report).unwrap_or(Duration::from_secs(default))
    }

    pub(crate) fn optional_seconds(&self, key: &str, report: &mut Report) -> Option<Duration> {
        let node = self.section.get(key)?;
        reader::seconds(node, &self.what(key), report)
    }

    pub(crate) fn transport(&self, report: &mut Report) -> Option<Transport> {
        let kind = self.kind(report)?;
        let (foreign, home): (&[&str], _) = match kind {
            TransportKind::Stdio => (&["url", "headers", "oauth"], "http and sse servers"),
            TransportKind::Auto | TransportKind::Http | TransportKind::Sse => {
                (&["command", "args", "env", "env_inherit", "cwd"], "stdio servers")
            }
        };
        for entry in foreign.iter().filter_map(|key| self.section.entry(key)) {
            let message =
                format!("'{}' is for {home}, but {} uses {}", entry.key, self.label, kind.name());
            report.add(Problem::new(entry.at, message).with_help("remove it"));
        }
        match kind {
            TransportKind::Stdio => self.stdio(report).map(Transport::Stdio),
            TransportKind::Auto => self.remote(kind, report).map(Transport::Auto),
            TransportKind::Http => self.remote(kind, report).map(Transport::Http),
            TransportKind::Sse => self.remote(kind, report).map(Transport::Sse),
        }
    }

    /// The transport that the entry names, or else the one that its other keys imply.
    fn kind(&self, report: &mut Report) -> Option<TransportKind> {
        let command = self.section.entry("command");
        let url = self.section.entry("url");
        if let (Some(command), Some(url)) = (command, url) {
            let message = format!("{} has both a 'command' and a 'url'", self.label);
            let help = "a command starts a local server, a url reaches a remote one; keep one";
            report.add(Problem::new(command.at.max(url.at), message).with_help(help));
            return None;
        }
        let transport = self.explicit_kind("transport", report);
        let alias = self.explicit_kind("type", report);
        match transport.or(alias) {
            Some(kind) if alias.is_some_and(|alias| alias != kind) => {
                let message = format!("{} has a 'type' and another 'transport'", self.label);
                let problem = Problem::new(self.at, message);
                report.add(problem.with_help("they mean the same; keep one"));
                None
            }
            Some(kind) => Some(kind),
            None if command.is_some() => Some(TransportKind::Stdio),
            None if url.is_some() => Some(TransportKind::Auto),
            None => {
                let message = format!("{} has neither a 'command' nor a 'url'", self.label);
                report.add(Problem::new(self.at, message));
                None
            }
        }
    }

    fn explicit_kind(&self, key: &str, report: &mut Report) -> Option<TransportKind> {
        let node = self.section.get(key)?;
        let text = reader::text(node, &self.what(key), report)?;
        let kind = TransportKind::parse(text);
        if kind.is_none() {
            let message =
                format!("{} must be stdio, auto, http or sse, not '{text}'", self.what(key));
            let problem = Problem::new(node.at, message);
            report.add(match nearest(text, ["stdio", "auto", "http", "sse"]) {
                Some(nearest) => problem.with_help(format!("did you mean '{nearest}'?")),
                None => problem,
            });
        }
        kind
    }

    fn stdio(&self, report: &mut Report) -> Option<StdioTransport> {
        let command = self.required("command", TransportKind::Stdio, report).and_then(|node| {
            let what = self.what("command");
            let command = self.path(node, &what, report)?;
            reader::not_empty(node, &what, command, report)
        });
        let args = self.args(report);
        let env = self.env(report);
        let cwd =
            self.section.get("cwd").and_then(|node| self.path(node, &self.what("cwd"), report));
        Some(StdioTransport { command: command?, args, env, cwd: cwd.map(PathBuf::from) })
    }

    fn args(&self, report: &mut Report) -> Vec<String> {
        let what = self.what("args");
        let Some(node) = self.section.get("args").filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let items = reader::list(node, &what, report).unwrap_or_default();
        let each = format!("each of {what}");
        let mut argument = |item: &Node| {
            let text = reader::scalar_text(item, &each, report)?;
            self.expanded(item, &what, text, report)
        };
        items.iter().filter_map(&mut argument).collect()
    }

    fn remote(&self, kind: TransportKind, report: &mut Report) -> Option<RemoteTransport> {
        let url = self.required("url", kind, report).and_then(|node| {
            let what = self.what("url");
            let text = reader::text(node, &what, report)?;
            let url = self.expanded(node, &what, text, report)?;
            let Some(read) = http_url(&url) else {
                let message = format!("{what} must be an http:// or https:// address");
                report.add(Problem::new(node.at, message));
                return None;
            };
            Some((url, read))
        });
        let is_value = |value: &str| !value.contains(|c: char| c.is_control() && c != '\t');
        let headers = self.values("headers", is_header_name, is_value, report);
        let what = self.what("oauth");
        let oauth = match self.section.get("oauth").filter(|node| !node.is_null()) {
            Some(node) => oauth::read(node, &what, self.environment, report),
            None => Some(OAuthConfig::default()),
        };
        let (url, read) = url?;
        let is_named = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        let names_user = !read.username().is_empty() || read.password().is_some();
        let oauth = oauth.filter(|_| !is_named && !names_user);
        Some(RemoteTransport { url, headers, oauth })
    }

    fn required(&self, key: &str, kind: TransportKind, report: &mut Report) -> Option<&'n Node> {
        let node = self.section.get(key);
        if node.is_none() {
            let message = format!("{} uses {} and needs a '{key}'", self.label, kind.name());
            report.add(Problem::new(self.at, message));
        }
        node
    }

    /// Reads a mapping of names to secrets. Invalid names are not shown: a user who writes
    /// `TOKEN=abc` as a name has put the secret there.
    fn values(
        &self,
        key: &str,
        is_name: fn(&str) -> bool,
        is_value: impl Fn(&str) -> bool,
        report: &mut Report,
    ) -> BTreeMap<String, Secret> {
        let what = self.what(key);
        let entries = self.section.get(key).and_then(|node| reader::entries(node, &what, report));
        let mut values = BTreeMap::new();
        for entry in entries.unwrap_or_default() {
            if !is_name(entry.key) {
                report.add(Problem::new(entry.at, format!("a name in {what} is not valid")));
                continue;
            }
            let what = format!("'{}' in {what}", entry.key);
            let Some(text) = reader::scalar_text(entry.value, &what, report) else { continue };
            let Some(value) = self.expanded(entry.value, &what, text, report) else { continue };
            if !is_value(&value) {
                let message = format!("{what} holds a character that is not allowed");
                let help = "line breaks and other control characters cannot be sent";
                report.add(Problem::new(entry.value.at, message).with_help(help));
                continue;
            }
            values.insert(entry.key.to_owned(), Secret::new(value));
        }
        values
    }

    /// Reads the path of a program or a folder, and expands its variables and the home directory.
    fn path(&self, node: &Node, what: &str, report: &mut Report) -> Option<String> {
        let text = reader::text(node, what, report)?;
        let path = expand_path(text, self.environment, self.expand);
        reader::check_expanded(node, what, path, report)
    }

    /// Expands the variables in a text of `node`.
    fn expanded(&self, node: &Node, what: &str, text: &str, report: &mut Report) -> Option<String> {
        reader::check_expanded(node, what, (self.expand)(text, self.environment), report)
    }

    pub(crate) fn what(&self, key: &str) -> String {
        format!("'{key}' of {}", self.label)
    }
}

/// Reads a list of environment variable names.
pub(crate) fn variable_names(node: &Node, what: &str, report: &mut Report) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for item in reader::list(node, what, report)? {
        let Some(name) = reader::text(item, &format!("each of {what}"), report) else { continue };
        if is_variable_name(name) {
            names.push(name.to_owned());
        } else {
            // A value may have been written by mistake, so it is not shown.
            let problem = Problem::new(item.at, format!("a name in {what} is not valid"));
            report.add(
                problem.with_help("write the names alone; values are taken from the environment"),
            );
        }
    }
    Some(names)
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}
