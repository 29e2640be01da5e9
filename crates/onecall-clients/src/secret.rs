//! Detects values that look like secrets, and replaces them by references to variables.

use std::ops::Range;

use crate::reference::variable_name;
use crate::server::{Launch, Server};

/// A value that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The location of the secret for people, such as `GITHUB_TOKEN in env`.
    pub location: String,
    /// The suggested name of a variable for it.
    pub variable: String,
    /// The index of its text in [`Server::string_values`]; `range` is its position in the text.
    text: usize,
    range: Range<usize>,
}

impl Server {
    /// All values of the server that look like secrets.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        let mut finder = SecretFinder { server: &self.name, found: Vec::new() };
        match &self.launch {
            Launch::Command { args, env, .. } => {
                for (index, argument) in args.iter().enumerate() {
                    let option = index.checked_sub(1).and_then(|index| args.get(index));
                    finder.argument(index + 1, option.map_or("", String::as_str), argument);
                }
                for (index, (name, value)) in env.iter().enumerate() {
                    finder.variable(1 + args.len() + index, name, value);
                }
            }
            Launch::Remote { url, headers, .. } => {
                finder.address(0, "its address", url, 0);
                for (index, (name, value)) in headers.iter().enumerate() {
                    finder.header(index + 1, &format!("header {name}"), name, value, 0);
                }
            }
        }
        finder.found
    }

    /// The text of a secret.
    #[must_use]
    pub fn secret_value(&self, secret: &Secret) -> &str {
        let text = self.string_values().nth(secret.text).unwrap_or_default();
        text.get(secret.range.clone()).unwrap_or_default()
    }

    /// Replaces each secret by a reference to its variable.
    pub fn replace_secrets(&mut self, secrets: &[Secret]) {
        for (index, text) in self.string_values_mut().enumerate() {
            let mut inside: Vec<&Secret> =
                secrets.iter().filter(|secret| secret.text == index).collect();
            inside.sort_by_key(|secret| std::cmp::Reverse(secret.range.start));
            for secret in inside {
                if text.get(secret.range.clone()).is_some() {
                    text.replace_range(secret.range.clone(), &format!("${{{}}}", secret.variable));
                }
            }
        }
    }
}

struct SecretFinder<'s> {
    server: &'s str,
    found: Vec<Secret>,
}

impl SecretFinder<'_> {
    fn add(&mut self, text: usize, location: &str, variable: String, range: Range<usize>) {
        self.found.push(Secret { location: location.to_owned(), variable, text, range });
    }

    fn variable(&mut self, text: usize, name: &str, value: &str) {
        let location = format!("{name} in env");
        if is_secret_name(name) && can_be_secret(value) || has_secret_shape(value) {
            self.add(text, &location, variable_name(name), 0..value.len());
        } else {
            self.address(text, &location, value, 0);
        }
    }

    fn header(&mut self, text: usize, location: &str, name: &str, value: &str, offset: usize) {
        let credential = ["Bearer ", "Basic ", "Token ", "bearer ", "token "]
            .into_iter()
            .find(|scheme| value.starts_with(scheme))
            .map_or(0, str::len);
        let rest = value.get(credential..).unwrap_or_default();
        if (is_secret_name(name) || credential > 0) && can_be_secret(rest) || has_secret_shape(rest)
        {
            let name = if credential > 0 { "token" } else { name };
            self.add(
                text,
                location,
                self.variable_for(name),
                offset + credential..offset + value.len(),
            );
        }
    }

    fn argument(&mut self, text: usize, before: &str, argument: &str) {
        let location = format!("argument {text}");
        let option = before.strip_prefix('-').map(|option| option.trim_start_matches('-'));
        if matches!(before, "--header" | "-H")
            && let Some((name, value)) = argument.split_once(':')
        {
            let offset = name.len() + 1 + value.len() - value.trim_start().len();
            self.header(text, &location, name.trim(), value.trim_start(), offset);
        } else if let Some((name, value)) = argument.split_once('=')
            && !name.contains("://")
        {
            let bare = name.trim_start_matches('-');
            if is_secret_name(bare) && can_be_secret(value) || has_secret_shape(value) {
                self.add(text, &location, self.variable_for(bare), name.len() + 1..argument.len());
            } else {
                self.address(text, &location, value, name.len() + 1);
            }
        } else if option.is_some_and(|option| !option.contains('=') && is_secret_name(option))
            && can_be_secret(argument)
            && !argument.starts_with('-')
        {
            self.add(
                text,
                &location,
                self.variable_for(option.unwrap_or_default()),
                0..argument.len(),
            );
        } else if has_secret_shape(argument) {
            self.add(text, &location, self.variable_for("secret"), 0..argument.len());
        } else {
            self.address(text, &location, argument, 0);
        }
    }

    /// Finds a password before the host, and secrets in the query.
    fn address(&mut self, text: usize, location: &str, value: &str, offset: usize) {
        let Some((scheme, rest)) = value.split_once("://") else { return };
        let start = offset + scheme.len() + 3;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@')
            && let Some((name, password)) = user.split_once(':')
            && can_be_secret(password)
        {
            let from = start + name.len() + 1;
            self.add(text, location, self.variable_for("password"), from..from + password.len());
        }
        let Some((path, query)) = rest.split_once('?') else { return };
        let mut at = start + path.len() + 1;
        for part in query.split('&') {
            if let Some((name, value)) = part.split_once('=')
                && (is_secret_name(name) && can_be_secret(value) || has_secret_shape(value))
            {
                let from = at + name.len() + 1;
                self.add(text, location, self.variable_for(name), from..from + value.len());
            }
            at += part.len() + 1;
        }
    }

    /// A variable name that includes the server's name, for values whose own name is too general.
    fn variable_for(&self, name: &str) -> String {
        variable_name(&format!("{}_{name}", self.server))
    }
}

/// Whether values with this name are usually secret.
fn is_secret_name(name: &str) -> bool {
    let mut words = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && was_lower {
            words.push('_');
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        words.push(if character.is_ascii_alphanumeric() {
            character.to_ascii_lowercase()
        } else {
            '_'
        });
    }
    let has = |word: &str| words.split('_').any(|part| part == word);
    [
        "token",
        "secret",
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "credential",
        "credentials",
        "bearer",
        "authorization",
        "cookie",
        "apikey",
        "pat",
        "dsn",
    ]
    .into_iter()
    .any(has)
        || words == "key"
        || words.ends_with("_key")
        || words.ends_with("accesskey")
        || words.ends_with("_auth")
        || words == "auth"
}

/// Whether a value is neither a reference nor obviously something else.
fn can_be_secret(value: &str) -> bool {
    let is_switch = matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "false" | "none" | "null" | "yes" | "no"
    );
    let is_path = value.starts_with(['/', '~']) || value.starts_with("./");
    value.len() > 3 && !value.contains("${") && !is_switch && !is_path
}

/// Whether a value has the format of known tokens.
fn has_secret_shape(value: &str) -> bool {
    const PREFIXES: [&str; 21] = [
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "sk-",
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "xoxb-",
        "xoxp-",
        "xapp-",
        "AKIA",
        "AIza",
        "npm_",
        "hf_",
        "pypi-",
        "ya29.",
        "lin_api_",
        "ntn_",
    ];
    let is_known = PREFIXES.iter().any(|prefix| value.starts_with(prefix)) && value.len() >= 16;
    let is_web_token = value.starts_with("eyJ") && value.matches('.').count() == 2;
    (is_known || is_web_token || is_random(value)) && !value.contains(char::is_whitespace)
}

/// Whether a value is long and has a mixture of characters that no word or path has.
fn is_random(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+=_-".contains(c);
    let count = |is: fn(&char) -> bool| value.chars().filter(is).count();
    let digits = count(char::is_ascii_digit);
    let letters = count(char::is_ascii_alphabetic);
    let is_hex = value.chars().all(|c| c.is_ascii_hexdigit());
    let is_mixed = count(char::is_ascii_uppercase) > 3 && count(char::is_ascii_lowercase) > 3;
    value.len() >= 32
        && value.chars().all(is_part)
        && digits > 3
        && letters > 3
        && (is_hex || is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::HttpTransport;

    fn command(args: &[&str], env: &[(&str, &str)]) -> Server {
        Server {
            name: "git-hub".into(),
            launch: Launch::Command {
                command: "docker".into(),
                args: args.iter().map(|text| (*text).to_owned()).collect(),
                env: env.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
                cwd: None,
            },
            disabled: false,
            connect_timeout: None,
            call_timeout: None,
            notes: Vec::new(),
        }
    }

    fn referred(mut server: Server) -> Vec<String> {
        let secrets = server.secrets();
        server.replace_secrets(&secrets);
        server.string_values().map(str::to_owned).collect()
    }

    #[test]
    fn variables() {
        let rows = [
            ("GITHUB_TOKEN", "ghp_0123456789abcdef", "${GITHUB_TOKEN}"),
            ("apiKey", "abcdef", "${APIKEY}"),
            ("OPENAI_API_KEY", "${OPENAI}", "${OPENAI}"),
            ("OPENAI_API_KEY", "", ""),
            ("KEYBOARD", "german", "german"),
            ("TOKENIZERS_PARALLELISM", "false", "false"),
            ("AUTH_FILE", "/home/ada/.auth", "/home/ada/.auth"),
            ("TOKEN_FILE", "~/.token", "~/.token"),
            ("PLAIN", "0123456789abcdef0123456789abcdef", "${PLAIN}"),
            (
                "NAMES",
                "a-long-name-of-something-with-words-1234",
                "a-long-name-of-something-with-words-1234",
            ),
            (
                "DATABASE_URL",
                "postgres://ada:hunter22@db/x",
                "postgres://ada:${GIT_HUB_PASSWORD}@db/x",
            ),
        ];
        for (name, value, expected) in rows {
            assert_eq!(referred(command(&[], &[(name, value)])), ["docker", expected], "{name}");
        }
    }

    #[test]
    fn arguments() {
        let rows = [
            (vec!["--api-key", "abcdef"], vec!["--api-key", "${GIT_HUB_API_KEY}"]),
            (vec!["--api-key", "--verbose"], vec!["--api-key", "--verbose"]),
            (vec!["--token=abcdef"], vec!["--token=${GIT_HUB_TOKEN}"]),
            (vec!["-e", "GITHUB_TOKEN"], vec!["-e", "GITHUB_TOKEN"]),
            (vec!["-e", "X_TOKEN=abcdef"], vec!["-e", "X_TOKEN=${GIT_HUB_X_TOKEN}"]),
            (
                vec!["--header", "Authorization: Bearer abcdef"],
                vec!["--header", "Authorization: Bearer ${GIT_HUB_TOKEN}"],
            ),
            (
                vec!["https://x/mcp?apiKey=abcdef&a=b"],
                vec!["https://x/mcp?apiKey=${GIT_HUB_APIKEY}&a=b"],
            ),
            (vec!["-y", "@scope/package@1.2.3"], vec!["-y", "@scope/package@1.2.3"]),
        ];
        for (args, expected) in rows {
            let found = referred(command(&args, &[]));
            assert_eq!(found.get(1..).unwrap_or_default(), expected);
        }
    }

    #[test]
    fn headers() {
        let mut server = command(&[], &[]);
        server.launch = Launch::Remote {
            url: "https://x/mcp".into(),
            transport: HttpTransport::Auto,
            headers: vec![
                ("Authorization".into(), "Bearer abcdef".into()),
                ("X-Api-Key".into(), "abcdef".into()),
                ("Accept-Language".into(), "de".into()),
                ("X-Auth-Token".into(), "${TOKEN}".into()),
            ],
        };
        let values: Vec<_> =
            server.secrets().iter().map(|secret| server.secret_value(secret).to_owned()).collect();
        assert_eq!(values, ["abcdef", "abcdef"]);
        assert_eq!(
            referred(server),
            ["https://x/mcp", "Bearer ${GIT_HUB_TOKEN}", "${GIT_HUB_X_API_KEY}", "de", "${TOKEN}"]
        );
    }
}
