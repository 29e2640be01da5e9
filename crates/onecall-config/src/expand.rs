//! Expands references to environment variables and secrets in configured text: `${NAME}` and
//! `${NAME:-default}`. Anything else stays unchanged, also a lone `$` and `$NAME`. A reference to a
//! secret of a user, `${user:NAME}`, is an error here; [`user_template`](crate::user_template) reads
//! the values that may have one.

use thiserror::Error;

use onecall_core::Secret;

use crate::secrets::Secrets;

/// How a reference to a secret of a user begins, after its `${`.
pub(crate) const USER_PREFIX: &str = "user:";

/// The values that references in a configuration can have: environment variables, and after them
/// the user's secrets. Secrets are only used for references, so that a server gets none that its
/// entry does not name.
#[derive(Clone, Copy)]
pub struct Environment<'e> {
    variables: &'e dyn Fn(&str) -> Option<String>,
    secrets: Option<&'e Secrets>,
    missing: MissingValue,
}

/// The handling of a reference to a name without a value.
#[derive(Clone, Copy)]
enum MissingValue {
    IsError,
    IsEmpty,
}

impl<'e> Environment<'e> {
    /// An environment without secrets; `variables` looks up an environment variable.
    #[must_use]
    pub fn new(variables: &'e dyn Fn(&str) -> Option<String>) -> Self {
        Self { variables, secrets: None, missing: MissingValue::IsError }
    }

    /// Adds secrets, for names that are not environment variables.
    #[must_use]
    pub fn with_secrets(self, secrets: &'e Secrets) -> Self {
        Self { secrets: Some(secrets), ..self }
    }

    /// Makes a reference to an unset name expand to an empty text, so that the rest can be checked.
    #[must_use]
    pub fn with_missing_as_empty(self) -> Self {
        Self { missing: MissingValue::IsEmpty, ..self }
    }

    /// Whether a reference to `name` has a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.known(name).is_some()
    }

    /// The environment variable with this name, without the user's secrets.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }

    /// The value for a reference to `name`.
    fn referenced(&self, name: &str) -> Option<String> {
        self.known(name).or_else(|| match self.missing {
            MissingValue::IsError => None,
            MissingValue::IsEmpty => Some(String::new()),
        })
    }

    fn known(&self, name: &str) -> Option<String> {
        let secret = || self.secrets?.get(name).map(Secret::reveal).map(str::to_owned);
        self.variable(name).or_else(secret)
    }
}

/// Why a text could not be expanded. It shows the names of variables and no other text, which may
/// be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ExpandError {
    #[error("environment variable '{0}' is not set")]
    Missing(String),
    #[error("a '${{' has no closing '}}'")]
    Unclosed,
    #[error("a '${{' is not followed by the name of a variable")]
    InvalidName,
    #[error("a default inside '${{…}}' contains another '${{'")]
    Nested,
    #[error("'${{user:…}}' can only be in 'env' and 'headers' of a server")]
    UserReference,
    #[error("a '${{user:' is not followed by the name of a secret and '}}'")]
    InvalidUserReference,
}

impl ExpandError {
    /// What the user can do.
    pub(crate) fn help(&self) -> String {
        match self {
            // `~` is expanded with the environment variable only, never with a secret.
            Self::Missing(name) if name == "HOME" => {
                "set it before starting onecall, or write ${HOME:-default}".into()
            }
            Self::Missing(name) => {
                format!(
                    "store it with `onecall secrets set {name}`, set it before starting onecall, or \
                     write ${{{name}:-default}}"
                )
            }
            Self::Unclosed | Self::InvalidName => {
                "write ${NAME} or ${NAME:-default}, with a name of letters, digits and _".into()
            }
            Self::Nested => "a default is plain text up to the next '}'".into(),
            Self::UserReference => {
                "pass the secret of a user to the server as a variable under 'env' or as a header, or \
                 write ${NAME} for one value that all users share"
                    .into()
            }
            Self::InvalidUserReference => {
                "write ${user:NAME}, with a name of letters, digits and _, and without a default"
                    .into()
            }
        }
    }
}

/// Replaces every reference in `text`. Values are not expanded again.
pub(crate) fn expand(text: &str, environment: &Environment<'_>) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, tail) = after.split_once('}').ok_or(ExpandError::Unclosed)?;
        expanded.push_str(before);
        expanded.push_str(&resolve(reference, environment)?);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Replaces every reference in `text` that has a value. Anything else stays unchanged: references
/// to unset variables, and a `${` that begins no reference.
pub(crate) fn expand_known(
    text: &str,
    environment: &Environment<'_>,
) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let reference = after.split_once('}');
        let value = reference.and_then(|(reference, _)| resolve(reference, environment).ok());
        if let (Some(value), Some((_, tail))) = (value, reference) {
            expanded.push_str(&value);
            rest = tail;
        } else {
            expanded.push_str("${");
            rest = after;
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The unset variables that `text` refers to.
pub(crate) fn unset_variables<'t>(text: &'t str, environment: &Environment<'_>) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let reference = after.split_once('}').map(|(reference, _)| reference);
        let is_missing =
            |name: &&str| matches!(resolve(name, environment), Err(ExpandError::Missing(_)));
        names.extend(reference.filter(is_missing));
        rest = after;
    }
    names
}

/// A function that replaces the references in a text.
pub(crate) type ExpandFn = fn(&str, &Environment<'_>) -> Result<String, ExpandError>;

/// Expands a path with `expand`, and a leading `~/` to the home directory.
pub(crate) fn expand_path(
    text: &str,
    environment: &Environment<'_>,
    expand: ExpandFn,
) -> Result<String, ExpandError> {
    let Some(below_home) = text.strip_prefix("~/") else {
        return expand(text, environment);
    };
    let home = environment
        .variable("HOME")
        .filter(|home| !home.is_empty())
        .ok_or_else(|| ExpandError::Missing("HOME".to_owned()))?;
    Ok(format!("{}/{}", home.trim_end_matches('/'), expand(below_home, environment)?))
}

fn resolve(reference: &str, environment: &Environment<'_>) -> Result<String, ExpandError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    if reference.starts_with(USER_PREFIX) {
        return Err(ExpandError::UserReference);
    }
    if !is_name(name) {
        return Err(ExpandError::InvalidName);
    }
    match default {
        Some(default) if default.contains("${") => Err(ExpandError::Nested),
        // As in a shell, the default also replaces an empty value.
        Some(default) => Ok(environment
            .referenced(name)
            .filter(|value| !value.is_empty())
            .unwrap_or_else(|| default.to_owned())),
        None => environment.referenced(name).ok_or_else(|| ExpandError::Missing(name.to_owned())),
    }
}

/// Whether a reference can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Environment<'static> {
        Environment::new(&environment)
    }

    fn environment(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/ada/".into()),
            "KEY" => Some("k${NESTED}".into()),
            "EMPTY" => Some(String::new()),
            "_x1" => Some("y".into()),
            _ => None,
        }
    }

    #[test]
    fn references() {
        let missing = |name: &str| Err(ExpandError::Missing(name.into()));
        let rows = [
            ("plain", Ok("plain")),
            ("${KEY}", Ok("k${NESTED}")),
            ("a${KEY}b${_x1}c", Ok("ak${NESTED}byc")),
            ("${EMPTY}", Ok("")),
            ("${NONE:-d}", Ok("d")),
            ("${NONE:-}", Ok("")),
            ("${EMPTY:-d}", Ok("d")),
            ("${_x1:-d}", Ok("y")),
            ("${NONE:-a:-b}", Ok("a:-b")),
            ("$", Ok("$")),
            ("$KEY $$ 5$", Ok("$KEY $$ 5$")),
            ("$${_x1}", Ok("$y")),
            ("}{", Ok("}{")),
            ("ünï ${_x1} ☃", Ok("ünï y ☃")),
            ("${NONE}", missing("NONE")),
            ("${KEY", Err(ExpandError::Unclosed)),
            ("${", Err(ExpandError::Unclosed)),
            ("${}", Err(ExpandError::InvalidName)),
            ("${1A}", Err(ExpandError::InvalidName)),
            ("${A B}", Err(ExpandError::InvalidName)),
            ("${A-b}", Err(ExpandError::InvalidName)),
            ("${:-d}", Err(ExpandError::InvalidName)),
            ("${NONE:-${KEY}}", Err(ExpandError::Nested)),
            ("a${user:KEY}", Err(ExpandError::UserReference)),
            ("${user:KEY:-d}", Err(ExpandError::UserReference)),
            ("${user}", missing("user")),
        ];
        for (text, expected) in rows {
            assert_eq!(expand(text, &variables()), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_stays() {
        let rows: [(&str, &str, &[&str]); 10] = [
            ("pa$$word", "pa$$word", &[]),
            ("$5 ${_x1}", "$5 y", &[]),
            ("${NONE}", "${NONE}", &["NONE"]),
            ("${NONE:-d}${NONE}", "d${NONE}", &["NONE"]),
            ("a${", "a${", &[]),
            ("${KEY", "${KEY", &[]),
            ("${A B}${_x1}", "${A B}y", &[]),
            ("${}", "${}", &[]),
            ("${NONE:-${_x1}}", "${NONE:-y}", &[]),
            ("${KEY}", "k${NESTED}", &[]),
        ];
        for (text, expected, missing) in rows {
            assert_eq!(expand_known(text, &variables()).as_deref(), Ok(expected), "{text}");
            assert_eq!(unset_variables(text, &variables()), missing, "{text}");
        }
    }

    #[test]
    fn home() {
        let rows = [
            ("~/bin/x", "/home/ada/bin/x"),
            ("~/${_x1}", "/home/ada/y"),
            ("~", "~"),
            ("~bob/x", "~bob/x"),
            ("a/~/x", "a/~/x"),
        ];
        for (text, expected) in rows {
            assert_eq!(expand_path(text, &variables(), expand).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(
            expand_path("~/x", &Environment::new(&|_| None), expand),
            Err(ExpandError::Missing("HOME".into()))
        );
    }
}
