//! Values of `env` and `headers` that contain secrets of users: `${user:NAME}`. Such a value is kept as
//! a template, which is filled in for one user when a server is started for that user. The text of an
//! environment variable is never searched for references.

use std::collections::{BTreeMap, BTreeSet};

use onecall_core::text::shell_word;
use onecall_core::{Secret, ServerName, UserName};
use thiserror::Error;

use crate::expand::{Environment, ExpandError, ExpandFn, USER_PREFIX, is_name};
use crate::model::{RemoteTransport, ServerConfig, Transport};

/// A value with places for secrets of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTemplate {
    parts: Vec<UserTemplatePart>,
}

/// A part of a [`UserTemplate`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum UserTemplatePart {
    /// Text, in which variables are expanded already.
    Text(Secret),
    /// The name of a secret of the user.
    UserSecret(String),
}

/// A configured value after its variables are expanded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExpandedValue {
    /// The value is the same for all users.
    Shared(String),
    /// The value contains secrets of the user.
    PerUser(UserTemplate),
}

/// What a server needs from each user. It is empty if all users share the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerUserSettings {
    /// Whether each user logs in to the server.
    pub login: bool,
    /// Environment variables that contain secrets of the user.
    pub env: BTreeMap<String, UserTemplate>,
    /// Headers that contain secrets of the user.
    pub headers: BTreeMap<String, UserTemplate>,
}

impl PerUserSettings {
    /// Whether the server needs nothing from its users.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.login && self.env.is_empty() && self.headers.is_empty()
    }
}

/// Why a server cannot be started for a user: secrets of the user are missing or cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("server '{server}' {}", self.reason())]
pub struct MissingSecrets {
    /// The server.
    pub server: ServerName,
    /// The user, if the secrets were looked up for a named user.
    pub user: Option<UserName>,
    /// The names of secrets that the user does not have.
    pub missing: Vec<String>,
    /// The names of secrets with a line break or another control character, which no header can have.
    pub unsuitable: Vec<String>,
}

impl MissingSecrets {
    /// What is missing, and what to do about it.
    #[must_use]
    pub fn reason(&self) -> String {
        let names = if self.missing.is_empty() { &self.unsuitable } else { &self.missing };
        let listed = names.join(", ");
        let [what, it] = match names.as_slice() {
            [_] => ["secret", "it"],
            _ => ["secrets", "each of them"],
        };
        let set = names.first().map_or("NAME", String::as_str);
        let (whose, how) = match self.user.as_ref().filter(|user| !user.is_local()) {
            Some(user) => {
                let word = shell_word(user.as_str());
                let command = format!("onecall secrets set {set} --user {word}");
                (
                    format!(" of user '{user}'"),
                    format!("an administrator of this onecall stores {it} with `{command}`"),
                )
            }
            None => (String::new(), format!("store {it} with `onecall secrets set {set}`")),
        };
        match self.missing.is_empty() {
            false => format!("needs the {what} {listed}{whose}; {how}, then try again"),
            true => format!(
                "cannot send the {what} {listed}{whose} in a header, because of a line break or another \
                 control character; {how} again, without it"
            ),
        }
    }
}

/// Expands the variables in `text` with `expand`, and keeps references to secrets of the user.
pub(crate) fn expand_value(
    text: &str,
    environment: &Environment<'_>,
    expand: ExpandFn,
) -> Result<ExpandedValue, ExpandError> {
    let mut parts = Vec::new();
    let mut shared = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some(after) = after.strip_prefix(USER_PREFIX) else {
            let length = after.find('}').map_or(rest.len(), |end| before.len() + 2 + end + 1);
            let (reference, tail) = rest.split_at(length);
            shared.push_str(&expand(reference, environment)?);
            rest = tail;
            continue;
        };
        let reference = after.split_once('}').filter(|(name, _)| is_name(name));
        let (name, tail) = reference.ok_or(ExpandError::InvalidUserReference)?;
        shared.push_str(before);
        if !shared.is_empty() {
            parts.push(UserTemplatePart::Text(Secret::new(std::mem::take(&mut shared))));
        }
        parts.push(UserTemplatePart::UserSecret(name.to_owned()));
        rest = tail;
    }
    shared.push_str(rest);
    if parts.is_empty() {
        return Ok(ExpandedValue::Shared(shared));
    }
    if !shared.is_empty() {
        parts.push(UserTemplatePart::Text(Secret::new(shared)));
    }
    Ok(ExpandedValue::PerUser(UserTemplate { parts }))
}

impl UserTemplate {
    /// The names of the secrets that the value contains.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            UserTemplatePart::UserSecret(name) => Some(name.as_str()),
            UserTemplatePart::Text(_) => None,
        })
    }

    /// The texts between the secrets.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            UserTemplatePart::Text(text) => Some(text.reveal()),
            UserTemplatePart::UserSecret(_) => None,
        })
    }

    /// The value with the secrets of a user; `None` if a secret is missing.
    fn filled_in(&self, lookup: &impl Fn(&str) -> Option<Secret>) -> Option<Secret> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                UserTemplatePart::Text(text) => value.push_str(text.reveal()),
                UserTemplatePart::UserSecret(name) => value.push_str(lookup(name)?.reveal()),
            }
        }
        Some(Secret::new(value))
    }

    /// A text that differs for different templates. It contains secrets of the configuration.
    #[must_use]
    pub fn fingerprint(&self) -> Secret {
        let mut text = String::new();
        for part in &self.parts {
            let (kind, content) = match part {
                UserTemplatePart::Text(content) => ('t', content.reveal()),
                UserTemplatePart::UserSecret(name) => ('u', name.as_str()),
            };
            text.push_str(&format!("{kind}{}:{content}", content.len()));
        }
        Secret::new(text)
    }
}

/// Whether a header can have this value.
pub(crate) fn is_header_value(value: &str) -> bool {
    !value.contains(|c: char| c.is_control() && c != '\t')
}

impl ServerConfig {
    /// Whether each user has a process or connection of their own to this server.
    #[must_use]
    pub fn is_per_user(&self) -> bool {
        !self.per_user.is_empty()
    }

    /// The names of the secrets that a user needs for this server, without duplicates.
    #[must_use]
    pub fn user_secret_names(&self) -> BTreeSet<&str> {
        let templates = self.per_user.env.values().chain(self.per_user.headers.values());
        templates.flat_map(UserTemplate::secret_names).collect()
    }

    /// The entry for one user, whose secrets `lookup` returns. It refers to no user any more, so it can
    /// be started. Whether the user has to log in is not part of the result.
    ///
    /// # Errors
    /// If secrets are missing, or cannot be sent in a header.
    pub fn for_user(
        &self,
        lookup: impl Fn(&str) -> Option<Secret>,
    ) -> Result<Self, MissingSecrets> {
        let mut secrets: BTreeMap<&str, Secret> = BTreeMap::new();
        let mut failure = MissingSecrets {
            server: self.name.clone(),
            user: None,
            missing: Vec::new(),
            unsuitable: Vec::new(),
        };
        for name in self.user_secret_names() {
            match lookup(name) {
                Some(value) => {
                    secrets.insert(name, value);
                }
                None => failure.missing.push(name.to_owned()),
            }
        }
        let for_headers = self.per_user.headers.values().flat_map(UserTemplate::secret_names);
        let is_unsuitable =
            |name: &&str| secrets.get(name).is_some_and(|it| !is_header_value(it.reveal()));
        let unsuitable: BTreeSet<&str> = for_headers.filter(is_unsuitable).collect();
        failure.unsuitable.extend(unsuitable.into_iter().map(str::to_owned));
        if !failure.missing.is_empty() || !failure.unsuitable.is_empty() {
            return Err(failure);
        }
        let secret = |name: &str| secrets.get(name).cloned();
        let mut server = self.clone();
        server.per_user = PerUserSettings::default();
        match &mut server.transport {
            Transport::Stdio(stdio) => stdio.env.extend(values(&self.per_user.env, &secret)),
            Transport::Auto(remote) | Transport::Http(remote) | Transport::Sse(remote) => {
                self.add_headers(remote, &secret);
            }
            Transport::Either { http, sse } => {
                self.add_headers(http, &secret);
                self.add_headers(sse, &secret);
            }
            Transport::Unresolved(_) => {}
        }
        Ok(server)
    }

    fn add_headers(&self, remote: &mut RemoteTransport, secret: &impl Fn(&str) -> Option<Secret>) {
        remote.headers.extend(values(&self.per_user.headers, secret));
    }
}

fn values(
    templates: &BTreeMap<String, UserTemplate>,
    secret: &impl Fn(&str) -> Option<Secret>,
) -> Vec<(String, Secret)> {
    let value = |(name, template): (&String, &UserTemplate)| {
        Some((name.clone(), template.filled_in(secret)?))
    };
    templates.iter().filter_map(value).collect()
}
