//! Identities of servers for caching: an answer is only reused for the same server with the same
//! account.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use onecall_config::{
    CommandInput, LocalTool, LocalToolKind, PerUserSettings, RemoteTransport, Secret, ServerConfig,
    StdioTransport, Template, TemplatePart, Transport,
};
use onecall_core::{DigestBuilder, UserName};
use onecall_login::{LoginVersion, UserVault};

use crate::supervision::server::remote;
use crate::transport::environment::{LOGIN_SESSION_VARIABLES, identifying_environment};

/// Identifies a server together with its account. It is a hash that includes secrets but does not
/// reveal them.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    entry: [u8; 32],
    login: Option<AccountVersion>,
}

/// Changes whenever the account of a login may have changed.
#[derive(Clone)]
enum AccountVersion {
    OfGateway(LoginVersion),
    OfUser(Arc<dyn Fn() -> String + Send + Sync>),
}

impl AccountVersion {
    fn current(&self) -> String {
        match self {
            Self::OfGateway(login) => login.current(),
            Self::OfUser(version) => version(),
        }
    }
}

impl fmt::Debug for AccountVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccountVersion")
    }
}

impl ServerIdentity {
    /// The identity of a server: its configuration entry, the environment it starts in, and the
    /// login that is used for it, which is in `vault` if that has the logins to shared servers.
    #[must_use]
    pub fn of(server: &ServerConfig, vault: Option<&Arc<UserVault>>) -> Self {
        let login = remote(&server.transport).and_then(|remote| LoginVersion::of(remote, vault));
        let login = login.map(AccountVersion::OfGateway);
        Self { entry: Self::entry_hash(server), login }
    }

    /// The hash of a configuration entry and the environment that the server starts in.
    fn entry_hash(server: &ServerConfig) -> [u8; 32] {
        let mut hash = FieldHasher::new("server");
        hash.add(server.name.as_str());
        hash.add_path(server.pins.as_deref());
        hash.add_per_user(&server.per_user);
        hash.add_transport(&server.transport, |hash, transport| {
            hash.add_child(&transport.env, transport.cwd.as_deref());
        });
        hash.finish()
    }

    /// The identity of a server that runs with the credentials of `user`. No two users have the same
    /// one, also if their entries are equal. `login_version` returns a text that changes whenever the
    /// user's login is replaced, if the user logs in to the server.
    #[must_use]
    pub fn of_user(
        user: &UserName,
        server: &ServerConfig,
        login_version: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    ) -> Self {
        let mut hash = FieldHasher::new("user");
        hash.add(user.as_str());
        hash.0.add(Self::entry_hash(server));
        Self { entry: hash.finish(), login: login_version.map(AccountVersion::OfUser) }
    }

    /// Identifies a server by its configuration entry alone, without logins and the environment of
    /// onecall. The working directory is included only if the entry names a file in it: such an
    /// entry means another server in another directory.
    #[must_use]
    pub fn of_entry(server: &ServerConfig) -> [u8; 32] {
        let mut hash = FieldHasher::new("entry");
        hash.add(server.name.as_str());
        hash.add_per_user(&server.per_user);
        hash.add_transport(&server.transport, |hash, transport| {
            hash.add_environment(&transport.env);
            let here = env::current_dir().ok().filter(|here| names_file_in(here, transport));
            hash.add_path(transport.cwd.as_deref().or(here.as_deref()));
        });
        hash.finish()
    }

    /// The identity of all local tools together.
    #[must_use]
    pub fn of_local(tools: &[LocalTool]) -> Self {
        let mut hash = FieldHasher::new("local");
        for tool in tools {
            hash.add(&format!("{tool:?}"));
            if let LocalToolKind::Command(command) = &tool.kind {
                hash.add(&command.arguments.len().to_string());
                command.arguments.iter().for_each(|template| hash.add_template(template));
                if let CommandInput::Text(template) = &command.stdin {
                    hash.add_template(template);
                }
                hash.add_child(&command.env, command.cwd.as_deref());
            }
        }
        Self { entry: hash.finish(), login: None }
    }

    /// The current identity: another login gives another identity.
    #[must_use]
    pub fn current_hash(&self) -> [u8; 32] {
        let Some(login) = &self.login else { return self.entry };
        let mut hash = FieldHasher::new("login");
        hash.0.add(self.entry);
        hash.add(&login.current());
        hash.finish()
    }
}

/// A hash of several texts that cannot be confused with other texts split differently.
struct FieldHasher(DigestBuilder);

impl FieldHasher {
    fn new(kind: &str) -> Self {
        let mut fields = Self(DigestBuilder::default());
        fields.add(kind);
        fields
    }

    fn add(&mut self, field: &(impl AsRef<OsStr> + ?Sized)) {
        self.0.add_part(field.as_ref().as_bytes());
    }

    fn add_path(&mut self, path: Option<&Path>) {
        self.add(path.map_or("none", |_| "some"));
        self.add(path.unwrap_or(Path::new("")));
    }

    fn add_secrets<'s>(&mut self, secrets: impl Iterator<Item = (&'s String, &'s Secret)> + Clone) {
        self.add(&secrets.clone().count().to_string());
        for (name, value) in secrets {
            self.add(name);
            self.add(value.reveal());
        }
    }

    /// Adds what a server needs from each user. Nothing is added for a server that all users share, whose
    /// hash stays as it was.
    fn add_per_user(&mut self, per_user: &PerUserSettings) {
        if per_user.is_empty() {
            return;
        }
        self.add(if per_user.login { "user login" } else { "user" });
        for templates in [&per_user.env, &per_user.headers] {
            self.add(&templates.len().to_string());
            for (name, template) in templates {
                self.add(name);
                self.add(template.fingerprint().reveal());
            }
        }
    }

    fn add_template(&mut self, template: &Template) {
        self.add(&template.parts().len().to_string());
        for piece in template.parts() {
            let (kind, text) = match piece {
                TemplatePart::Text(text) => ("text", text),
                TemplatePart::Argument(name) => ("argument", name),
            };
            self.add(kind);
            self.add(text);
        }
    }

    /// Adds how a server is reached; `add_child` adds what a child process sees besides its
    /// arguments.
    fn add_transport(
        &mut self,
        transport: &Transport,
        add_child: impl FnOnce(&mut Self, &StdioTransport),
    ) {
        match transport {
            Transport::Stdio(transport) => {
                self.add("stdio");
                self.add(&transport.command);
                self.add(&transport.args.len().to_string());
                transport.args.iter().for_each(|argument| self.add(argument));
                add_child(self, transport);
            }
            Transport::Auto(remote) => self.add_remote("auto", remote),
            Transport::Either { http, sse } => {
                self.add(&sse.url);
                self.add_remote("either", http)
            }
            Transport::Http(remote) => self.add_remote("http", remote),
            Transport::Sse(remote) => self.add_remote("sse", remote),
            Transport::Unresolved(_) => self.add("unresolved"),
        }
    }

    /// Adds the variables that an entry sets, except those that do not identify an account.
    fn add_environment(&mut self, env: &BTreeMap<String, Secret>) {
        let is_lasting = |name: &str| !LOGIN_SESSION_VARIABLES.contains(&name);
        self.add_secrets(env.iter().filter(|(name, _)| is_lasting(name)));
    }

    /// Adds what a child process sees besides its arguments.
    fn add_child(&mut self, env: &BTreeMap<String, Secret>, cwd: Option<&Path>) {
        self.add_environment(env);
        for (name, value) in identifying_environment() {
            self.add(name);
            self.add(&value);
        }
        // Without its own working directory, it inherits that of onecall.
        let here = env::current_dir().ok();
        self.add_path(cwd.or(here.as_deref()));
    }

    fn add_remote(&mut self, transport: &str, remote: &RemoteTransport) {
        self.add(transport);
        self.add(&remote.url);
        self.add_secrets(remote.headers.iter());
    }

    fn finish(self) -> [u8; 32] {
        self.0.finish().into_bytes()
    }
}

/// Whether the command or an argument of a server is the path of a file in this folder.
fn names_file_in(folder: &Path, transport: &StdioTransport) -> bool {
    let is_there = |word: &str| !Path::new(word).is_absolute() && folder.join(word).exists();
    let is_command = transport.command.contains('/') && is_there(&transport.command);
    // An argument such as `--config=servers.json` names a file too.
    let words = transport.args.iter().flat_map(|argument| {
        [argument.as_str(), argument.split_once('=').map_or("", |(_, value)| value)]
    });
    is_command || words.filter(|word| !word.is_empty()).any(is_there)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onecall_core::ServerName;

    use super::*;

    fn config(transport: Transport) -> ServerConfig {
        let second = Duration::from_secs(1);
        ServerConfig {
            name: ServerName::new("s"),
            transport,
            connect_timeout: Some(second),
            call_timeout: Some(second),
            lazy: false,
            pins: None,
            per_user: PerUserSettings::default(),
        }
    }

    fn server(transport: Transport) -> [u8; 32] {
        ServerIdentity::of(&config(transport), None).current_hash()
    }

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> [u8; 32] {
        server(Transport::Stdio(StdioTransport {
            command: "c".to_owned(),
            args: args.iter().map(|&it| it.to_owned()).collect(),
            env: env.iter().map(|&(name, value)| (name.to_owned(), Secret::new(value))).collect(),
            cwd: None,
        }))
    }

    fn remote(url: &str, headers: &[(&str, &str)]) -> [u8; 32] {
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), Secret::new(value)));
        let (url, headers) = (url.to_owned(), headers.collect());
        server(Transport::Http(RemoteTransport { url, headers, oauth: None }))
    }

    #[test]
    fn another_account_is_another_identity() {
        let all = [
            stdio(&[], &[]),
            stdio(&["ab"], &[]),
            stdio(&["a", "b"], &[]),
            stdio(&[], &[("KEY", "one")]),
            stdio(&[], &[("KEY", "two")]),
            stdio(&[], &[("SSH_AUTH_SOCK_OF_SERVER", "/tmp/one")]),
            remote("http://localhost/a", &[]),
            remote("http://localhost/b", &[]),
            remote("http://localhost/a", &[("Authorization", "Bearer one")]),
            remote("http://localhost/a", &[("Authorization", "Bearer two")]),
        ];
        for (position, identity) in all.iter().enumerate() {
            assert!(!all.iter().take(position).any(|other| other == identity), "{position}");
        }
        assert_eq!(stdio(&["a"], &[("KEY", "one")]), stdio(&["a"], &[("KEY", "one")]));
        // A socket of this login session is no account.
        assert_eq!(stdio(&[], &[]), stdio(&[], &[("SSH_AUTH_SOCK", "/tmp/agent.1")]));
    }
    #[test]
    fn the_server_of_a_user_is_that_of_no_other() {
        let url = "http://localhost/a".to_owned();
        let remote = RemoteTransport { url, headers: BTreeMap::new(), oauth: None };
        let config = config(Transport::Http(remote));
        let of = |user: &str, version: Option<&'static str>| {
            let version = version.map(|it| -> Arc<dyn Fn() -> String + Send + Sync> {
                Arc::new(move || it.to_owned())
            });
            let user = UserName::from_existing(user);
            ServerIdentity::of_user(&user, &config, version).current_hash()
        };
        let all = [
            ServerIdentity::of(&config, None).current_hash(),
            of("alice", None),
            of("bob", None),
            of("alice", Some("first login")),
            of("alice", Some("second login")),
            of("bob", Some("first login")),
        ];
        for (position, identity) in all.iter().enumerate() {
            assert!(!all.iter().take(position).any(|other| other == identity), "{position}");
        }
        assert_eq!(of("alice", Some("first login")), of("alice", Some("first login")));
    }
}
