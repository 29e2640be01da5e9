//! Finds the environment variables that a failed server probably lacks: those that are set where
//! onecall runs, that servers do not get by default, and whose absence causes such an error.

use onecall_bridge::is_passed_on;
use onecall_config::StdioTransport;

/// Parts of error messages in lower case, and the variables that may be missing.
const ERROR_HINTS: &[(&str, &[&str])] = &[
    ("publickey", &["SSH_AUTH_SOCK"]),
    ("authentication agent", &["SSH_AUTH_SOCK"]),
    ("docker daemon", &["DOCKER_HOST", "DOCKER_CONTEXT"]),
    ("docker.sock", &["DOCKER_HOST", "DOCKER_CONTEXT"]),
    ("x server", &["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"]),
    ("open display", &["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"]),
    ("d-bus", &["DBUS_SESSION_BUS_ADDRESS"]),
    ("dbus", &["DBUS_SESSION_BUS_ADDRESS"]),
    ("locate credentials", &["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]),
    ("credentialsprovidererror", &["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]),
    ("default credentials", &["GOOGLE_APPLICATION_CREDENTIALS"]),
    ("kubernetes", &["KUBECONFIG"]),
    ("kubeconfig", &["KUBECONFIG"]),
];

/// The variables that a server may lack, by its error message. `is_set` tells whether onecall has
/// one.
pub(super) fn likely_missing(
    message: &str,
    server: &StdioTransport,
    is_set: impl Fn(&str) -> bool,
) -> Vec<String> {
    let is_withheld =
        |name: &&str| is_set(name) && !is_passed_on(name) && !server.env.contains_key(*name);
    let mentioned = message
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.len() > 2 && !word.contains(|c: char| c.is_ascii_lowercase()));
    let lower = message.to_ascii_lowercase();
    let hints = ERROR_HINTS.iter().filter(|(hint, _)| lower.contains(hint));
    let known = hints.flat_map(|(_, names)| names.iter().copied());
    let mut missing: Vec<String> = Vec::new();
    for name in mentioned.chain(known).filter(is_withheld) {
        if !missing.iter().any(|listed| listed == name) {
            missing.push(name.to_owned());
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use onecall_config::Secret;

    use super::*;

    fn missing(message: &str) -> Vec<String> {
        let env = BTreeMap::from([("OWN_TOKEN".to_owned(), Secret::new("x"))]);
        let server = StdioTransport { command: "c".to_owned(), args: Vec::new(), env, cwd: None };
        let set = ["SSH_AUTH_SOCK", "GITHUB_TOKEN", "OWN_TOKEN", "PATH", "HTTPS_PROXY", "DISPLAY"];
        likely_missing(message, &server, |name| set.contains(&name))
    }

    #[test]
    fn a_variable_is_missing_if_it_is_set_here_and_not_passed_on() {
        assert_eq!(missing("git@host: Permission denied (publickey)."), ["SSH_AUTH_SOCK"]);
        assert_eq!(missing("error: GITHUB_TOKEN is required, set GITHUB_TOKEN"), ["GITHUB_TOKEN"]);
        assert_eq!(missing("Missing X server or $DISPLAY"), ["DISPLAY"]);
        // Not set, passed on, or configured.
        for message in ["AWS_PROFILE is not set", "no HTTPS_PROXY, PATH", "OWN_TOKEN is wrong", ""]
        {
            assert_eq!(missing(message), [""; 0], "{message}");
        }
    }
}
