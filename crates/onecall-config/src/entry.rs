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
use crate::user_template::{
    ExpandedValue, PerUserSettings, UserTemplate, expand_value, is_header_value,
};

pub(crate) struct EntryReader<'n> {
    /// The name of the entry in messages.
    pub(crate) label: String,
    pub(crate) at: Position,
    pub(crate) section: Section<'n>,
    pub(crate) environment: &'n Environment<'n>,
    pub(crate) expand: ExpandFn,
    /// The gateway's environment variables that every entry with a command gets.
    pub(crate) inherited: &'n [String],
    /// Whether `${user:NAME}` in a value is a secret of the user.
    pub(crate) user_references: UserReferences,
}

/// What `${user:NAME}` in `env` and `headers` is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserReferences {
    /// A secret of the user.
    Secrets,
    /// What any other text of the entry makes of it.
    None,
}

/// Values of an entry by name: those that are the same for all users, and the others.
#[derive(Default)]
struct EntryValues {
    shared: BTreeMap<String, Secret>,
    per_user: BTreeMap<String, UserTemplate>,
}

type UserTemplates = BTreeMap<String, UserTemplate>;

/// Whose credentials a server gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CredentialOwner {
    Shared,
    User,
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
    /// name, if they are set, and those of its own entry. A local tool has no variables of users.
    pub(crate) fn env(&self, report: &mut Report) -> BTreeMap<String, Secret> {
        self.env_values(report).shared
    }

    fn env_values(&self, report: &mut Report) -> EntryValues {
        let own = self.section.get("env_inherit");
        let own = own.and_then(|node| variable_names(node, &self.what("env_inherit"), report));
        let names = self.inherited.iter().chain(own.iter().flatten());
        let inherited = names.filter_map(|name| {
            let value = self.environment.variable(name)?;
            Some((name.clone(), Secret::new(value)))
        });
        let mut env: BTreeMap<String, Secret> = inherited.collect();
        let own = self.values("env", is_variable_name, |value| !value.contains('\0'), report);
        own.per_user.keys().for_each(|name| drop(env.remove(name)));
        env.extend(own.shared);
        EntryValues { shared: env, per_user: own.per_user }
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

    /// How the server is reached, and what it needs from each user.
    pub(crate) fn transport(&self, report: &mut Report) -> Option<(Transport, PerUserSettings)> {
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
        let remote = |make: fn(RemoteTransport) -> Transport, report: &mut Report| {
            let (remote, headers) = self.remote(kind, report)?;
            let per_user = PerUserSettings { headers, ..PerUserSettings::default() };
            Some((make(remote), per_user))
        };
        let (transport, mut per_user) = match kind {
            TransportKind::Stdio => {
                let (stdio, env) = self.stdio(report)?;
                let per_user = PerUserSettings { env, ..PerUserSettings::default() };
                (Transport::Stdio(stdio), per_user)
            }
            TransportKind::Auto => remote(Transport::Auto, report)?,
            TransportKind::Http => remote(Transport::Http, report)?,
            TransportKind::Sse => remote(Transport::Sse, report)?,
        };
        per_user.login = self.has_user_logins(&transport, &per_user, report)?;
        Some((transport, per_user))
    }

    /// Whether each user logs in to the server, as `credentials` says. `None` if `credentials` does not
    /// fit the rest of the entry.
    fn has_user_logins(
        &self,
        transport: &Transport,
        per_user: &PerUserSettings,
        report: &mut Report,
    ) -> Option<bool> {
        let Some(node) = self.section.get("credentials") else { return Some(false) };
        let names = [("shared", CredentialOwner::Shared), ("user", CredentialOwner::User)];
        let what = self.what("credentials");
        let owner = reader::choice(node, &what, "a kind of credentials", &names, report)?;
        let mut misfit = |message: String, help: &str| {
            report.add(Problem::new(node.at, message).with_help(help));
            None
        };
        let oauth = match transport {
            Transport::Auto(remote) | Transport::Http(remote) | Transport::Sse(remote) => {
                remote.oauth.is_some()
            }
            Transport::Stdio(_) | Transport::Either { .. } | Transport::Unresolved(_) => false,
        };
        match owner {
            CredentialOwner::Shared if per_user.is_empty() => Some(false),
            CredentialOwner::Shared => misfit(
                format!("{} has 'credentials: shared' and '${{user:…}}'", self.label),
                "remove 'credentials', or write ${NAME} for a value that all users share",
            ),
            CredentialOwner::User if oauth || !per_user.is_empty() => Some(oauth),
            CredentialOwner::User if matches!(transport, Transport::Stdio(_)) => misfit(
                format!(
                    "{} has 'credentials: user', but nothing in its entry differs between users",
                    self.label
                ),
                "give it a secret of each user under 'env', as in TOKEN: \"${user:TOKEN}\"",
            ),
            CredentialOwner::User => misfit(
                format!(
                    "{} has 'credentials: user' and credentials for everybody: an Authorization \
                     header, or a user in 'url'",
                    self.label
                ),
                "remove them, so that each user logs in; or write '${user:NAME}' in the header",
            ),
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

    /// The child process, and its variables with secrets of users.
    fn stdio(&self, report: &mut Report) -> Option<(StdioTransport, UserTemplates)> {
        let command = self.required("command", TransportKind::Stdio, report).and_then(|node| {
            let what = self.what("command");
            let command = self.path(node, &what, report)?;
            reader::not_empty(node, &what, command, report)
        });
        let args = self.args(report);
        let EntryValues { shared: env, per_user } = self.env_values(report);
        let cwd =
            self.section.get("cwd").and_then(|node| self.path(node, &self.what("cwd"), report));
        let cwd = cwd.map(PathBuf::from);
        Some((StdioTransport { command: command?, args, env, cwd }, per_user))
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

    /// The remote server, and its headers with secrets of users.
    fn remote(
        &self,
        kind: TransportKind,
        report: &mut Report,
    ) -> Option<(RemoteTransport, UserTemplates)> {
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
        let headers = self.values("headers", is_header_name, is_header_value, report);
        let EntryValues { shared: headers, per_user } = headers;
        let what = self.what("oauth");
        let oauth = match self.section.get("oauth").filter(|node| !node.is_null()) {
            Some(node) => oauth::read(node, &what, self.environment, report),
            None => Some(OAuthConfig::default()),
        };
        let (url, read) = url?;
        let mut names = headers.keys().chain(per_user.keys());
        let is_named = names.any(|name| name.eq_ignore_ascii_case("authorization"));
        let names_user = !read.username().is_empty() || read.password().is_some();
        let oauth = oauth.filter(|_| !is_named && !names_user);
        Some((RemoteTransport { url, headers, oauth }, per_user))
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
    ) -> EntryValues {
        let what = self.what(key);
        let entries = self.section.get(key).and_then(|node| reader::entries(node, &what, report));
        let mut values = EntryValues::default();
        for entry in entries.unwrap_or_default() {
            if !is_name(entry.key) {
                report.add(Problem::new(entry.at, format!("a name in {what} is not valid")));
                continue;
            }
            let what = format!("'{}' in {what}", entry.key);
            let Some(text) = reader::scalar_text(entry.value, &what, report) else { continue };
            let Some(value) = self.expanded_value(entry.value, &what, text, report) else {
                continue;
            };
            let is_valid = match &value {
                ExpandedValue::Shared(text) => is_value(text),
                ExpandedValue::PerUser(template) => template.texts().all(&is_value),
            };
            if !is_valid {
                let message = format!("{what} holds a character that is not allowed");
                let help = "line breaks and other control characters cannot be sent";
                report.add(Problem::new(entry.value.at, message).with_help(help));
                continue;
            }
            let name = entry.key.to_owned();
            match value {
                ExpandedValue::Shared(text) => drop(values.shared.insert(name, Secret::new(text))),
                ExpandedValue::PerUser(template) => drop(values.per_user.insert(name, template)),
            }
        }
        values
    }

    /// Expands the variables in a value of `node`, and keeps references to secrets of users.
    fn expanded_value(
        &self,
        node: &Node,
        what: &str,
        text: &str,
        report: &mut Report,
    ) -> Option<ExpandedValue> {
        let expanded = match self.user_references {
            UserReferences::Secrets => expand_value(text, self.environment, self.expand),
            UserReferences::None => {
                (self.expand)(text, self.environment).map(ExpandedValue::Shared)
            }
        };
        match expanded {
            Ok(ExpandedValue::Shared(text)) => {
                reader::check_expanded(node, what, Ok(text), report).map(ExpandedValue::Shared)
            }
            Ok(template) => Some(template),
            Err(error) => {
                reader::check_expanded(node, what, Err(error), report).map(ExpandedValue::Shared)
            }
        }
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
