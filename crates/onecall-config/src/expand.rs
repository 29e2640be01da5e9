//! Puts environment variables into configured text: `${NAME}` and `${NAME:-default}`.
//! Anything else, a lone `$` or `$NAME` too, stays as it is.

use thiserror::Error;

/// Looks up an environment variable.
pub(crate) type Environment<'e> = dyn Fn(&str) -> Option<String> + 'e;

/// Why a text could not be expanded. Shows names of variables, never any other text:
/// the text around them may be a secret.
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
}

impl ExpandError {
    /// What to do about it.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Missing(name) => {
                format!("set it before starting onecall, or write ${{{name}:-default}}")
            }
            Self::Unclosed | Self::InvalidName => {
                "write ${NAME} or ${NAME:-default}, with a name of letters, digits and _".into()
            }
            Self::Nested => "a default is plain text up to the next '}'".into(),
        }
    }
}

/// `text` with every reference replaced. Values are not expanded again.
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

/// Like [`expand`], with a leading `~/` as the home directory.
pub(crate) fn expand_path(
    text: &str,
    environment: &Environment<'_>,
) -> Result<String, ExpandError> {
    let Some(below_home) = text.strip_prefix("~/") else {
        return expand(text, environment);
    };
    let home = environment("HOME")
        .filter(|home| !home.is_empty())
        .ok_or_else(|| ExpandError::Missing("HOME".to_owned()))?;
    Ok(format!("{}/{}", home.trim_end_matches('/'), expand(below_home, environment)?))
}

fn resolve(reference: &str, environment: &Environment<'_>) -> Result<String, ExpandError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    if !is_name(name) {
        return Err(ExpandError::InvalidName);
    }
    match default {
        Some(default) if default.contains("${") => Err(ExpandError::Nested),
        // As in a shell, an empty variable takes the default too.
        Some(default) => Ok(environment(name)
            .filter(|value| !value.is_empty())
            .unwrap_or_else(|| default.to_owned())),
        None => environment(name).ok_or_else(|| ExpandError::Missing(name.to_owned())),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ];
        for (text, expected) in rows {
            assert_eq!(expand(text, &environment), expected.map(str::to_owned), "{text}");
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
            assert_eq!(expand_path(text, &environment).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(expand_path("~/x", &|_| None), Err(ExpandError::Missing("HOME".into())));
    }
}
