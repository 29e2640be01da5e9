//! Servers with credentials of their users: what `credentials` and `${user:NAME}` mean, and where they
//! are wrong.

use std::collections::BTreeMap;
use std::path::Path;

use onecall_config::{
    Config, MissingSecrets, PerUserSettings, Secret, ServerConfig, Transport, UnresolvedTransport,
};
use onecall_core::{ServerName, UserName};

fn environment(name: &str) -> Option<String> {
    match name {
        "PREFIX" => Some("Bearer".into()),
        // The text of a variable is no reference.
        "SLY" => Some("${user:OTHER}".into()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Config, String> {
    let config = Config::parse(text, Path::new("c.yaml"), &environment);
    config.map_err(|errors| errors.to_string())
}

/// The only server of a configuration.
fn server(entry: &str) -> ServerConfig {
    let config = parse(&format!("servers: [{{ name: s, {entry} }}]"));
    config.unwrap_or_else(|errors| panic!("{errors}")).servers.remove(0)
}

fn secret(name: &str) -> Option<Secret> {
    match name {
        "TOKEN" => Some(Secret::new("t-anna")),
        "OTHER" => Some(Secret::new("o-anna")),
        "BREAK" => Some(Secret::new("x\r\nEvil: y")),
        _ => None,
    }
}

fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, Secret> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect()
}

fn env(server: &ServerConfig) -> BTreeMap<String, Secret> {
    let Transport::Stdio(stdio) = &server.transport else { panic!("{server:?}") };
    stdio.env.clone()
}

fn headers(server: &ServerConfig) -> BTreeMap<String, Secret> {
    let Transport::Auto(remote) = &server.transport else { panic!("{server:?}") };
    remote.headers.clone()
}

#[test]
fn secrets_of_a_user_are_filled_in_for_that_user() {
    let server = server(
        "command: c, env: { A: 'x${user:TOKEN}-${user:OTHER}y', B: '${SLY}', C: '${PREFIX}', \
         D: '${user:TOKEN}${SLY}' }",
    );
    assert!(server.is_per_user());
    assert_eq!(server.user_secret_names().into_iter().collect::<Vec<_>>(), ["OTHER", "TOKEN"]);
    // Before that, only values that all users share are there.
    assert!(env(&server) == values(&[("B", "${user:OTHER}"), ("C", "Bearer")]));
    let resolved = server.for_user(secret).unwrap();
    let expected = values(&[
        ("A", "xt-anna-o-annay"),
        ("B", "${user:OTHER}"),
        ("C", "Bearer"),
        ("D", "t-anna${user:OTHER}"),
    ]);
    assert!(env(&resolved) == expected);
    assert!(!resolved.is_per_user());
    assert_eq!(resolved.per_user, PerUserSettings::default());
    assert!(!format!("{server:?} {resolved:?}").contains("anna"));
}

#[test]
fn headers_may_contain_secrets_of_a_user() {
    let server = server(
        "url: 'https://h.example/mcp', headers: { Authorization: '${PREFIX} ${user:TOKEN}', X: '1' }",
    );
    assert!(server.is_per_user() && !server.per_user.login);
    assert!(headers(&server) == values(&[("X", "1")]));
    // An Authorization header leaves no room for a login.
    let Transport::Auto(remote) = &server.transport else { panic!("{server:?}") };
    assert_eq!(remote.oauth, None);
    let resolved = server.for_user(secret).unwrap();
    assert!(headers(&resolved) == values(&[("Authorization", "Bearer t-anna"), ("X", "1")]));
}

#[test]
fn credentials_of_users_can_be_logins() {
    let login = server("url: 'https://h.example/mcp', credentials: user");
    assert!(login.is_per_user() && login.per_user.login);
    assert!(login.user_secret_names().is_empty());
    assert!(!login.for_user(|_| None).unwrap().is_per_user());
    let both =
        server("url: 'https://h.example/mcp', credentials: user, headers: { X: '${user:TOKEN}' }");
    assert!(both.per_user.login);
    for shared in ["", ", credentials: shared"] {
        assert!(!server(&format!("url: 'https://h.example/mcp'{shared}")).is_per_user());
        assert!(!server(&format!("command: c{shared}")).is_per_user());
    }
}

#[test]
fn a_server_says_which_secrets_are_missing_and_how_to_store_them() {
    let missing = server("command: c, env: { A: '${user:NONE}', B: '${user:ALSO_NONE}' }");
    let missing = missing.for_user(secret).unwrap_err();
    let expected = MissingSecrets {
        server: ServerName::new("s"),
        user: None,
        missing: vec!["ALSO_NONE".to_owned(), "NONE".to_owned()],
        unsuitable: Vec::new(),
    };
    assert_eq!(missing, expected);
    assert_eq!(
        missing.to_string(),
        "server 's' needs the secrets ALSO_NONE, NONE; store each of them with `onecall secrets set \
         ALSO_NONE`, then try again"
    );
    let user = Some(UserName::parse("Anna M").unwrap());
    let one = MissingSecrets { user, missing: vec!["NONE".to_owned()], ..missing };
    assert_eq!(
        one.to_string(),
        "server 's' needs the secret NONE of user 'Anna M'; an administrator of this onecall stores it \
         with `onecall secrets set NONE --user 'Anna M'`, then try again"
    );

    // A secret cannot smuggle another header in.
    let unsuitable = server("url: 'https://h.example/', headers: { X: '${user:BREAK}' }");
    let unsuitable = unsuitable.for_user(secret).unwrap_err();
    assert_eq!(unsuitable.unsuitable, ["BREAK"]);
    assert!(!unsuitable.to_string().contains("Evil"), "{unsuitable}");
}

#[test]
fn an_unset_variable_is_still_found_beside_a_secret_of_a_user() {
    let server = server("command: c, env: { A: '${user:TOKEN}${UNSET}' }");
    let variables = vec!["UNSET".to_owned()];
    let expected = Transport::Unresolved(UnresolvedTransport {
        kind: "stdio",
        variables,
        credentials_problem: None,
    });
    assert_eq!((server.transport, server.per_user), (expected, PerUserSettings::default()));
}

#[test]
fn secrets_of_users_are_only_in_env_and_headers() {
    let only = "'${user:…}' can only be in 'env' and 'headers' of a server";
    let help = "help: pass the secret of a user to the server as a variable under 'env' or as a header, \
                or write ${NAME} for one value that all users share";
    let invalid = "a '${user:' is not followed by the name of a secret and '}'";
    let write =
        "help: write ${user:NAME}, with a name of letters, digits and _, and without a default";
    let rows = [
        ("servers:\n  - name: s\n    command: ${user:X}", 3, only, "'command' of server 's'", help),
        (
            "servers:\n  - { name: s, command: c, args: ['${user:X}'] }",
            2,
            only,
            "'args' of server 's'",
            help,
        ),
        (
            "servers:\n  - name: s\n    command: c\n    cwd: /home/${user:X}",
            4,
            only,
            "'cwd' of server 's'",
            help,
        ),
        (
            "servers:\n  - { name: s, url: 'https://h/${user:X}' }",
            2,
            only,
            "'url' of server 's'",
            help,
        ),
        (
            "servers:\n  - name: s\n    url: https://h/\n    oauth:\n      client_id: ${user:X}",
            5,
            only,
            "'client_id' in 'oauth' of server 's'",
            help,
        ),
        (
            "local_tools:\n  - name: t\n    command: [c]\n    env: { A: '${user:X}' }",
            4,
            only,
            "'A' in 'env' of local tool 't'",
            help,
        ),
        (
            "servers:\n  - { name: s, command: c, env: { A: '${user:1X}' } }",
            2,
            invalid,
            "'A' in 'env' of server 's'",
            write,
        ),
        (
            "servers:\n  - { name: s, command: c, env: { A: '${user:X:-d}' } }",
            2,
            invalid,
            "'A' in 'env' of server 's'",
            write,
        ),
        (
            "servers:\n  - { name: s, command: c, env: { A: '${user:X' } }",
            2,
            invalid,
            "'A' in 'env' of server 's'",
            write,
        ),
    ];
    for (text, line, message, place, help) in rows {
        let errors = parse(text).expect_err(text);
        assert!(errors.starts_with(&format!("c.yaml:{line}:")), "{errors}");
        assert!(errors.ends_with(&format!(": {message} (in {place})\n  {help}")), "{errors}");
    }
    // A default may contain no other reference.
    let nested = parse("servers: [{ name: s, command: c, env: { A: '${X:-${user:Y}}' } }]");
    assert!(nested.unwrap_err().contains("a default inside '${…}' contains another '${'"));
}

#[test]
fn credentials_fit_the_rest_of_the_entry() {
    let rows = [
        (
            "command: c\n    credentials: user",
            "c.yaml:4:18: server 's' has 'credentials: user', but nothing in its entry differs between \
             users\n  help: give it a secret of each user under 'env', as in TOKEN: \"${user:TOKEN}\"",
        ),
        (
            "command: c\n    env: { A: '${user:X}' }\n    credentials: shared",
            "c.yaml:5:18: server 's' has 'credentials: shared' and '${user:…}'\n  help: remove \
             'credentials', or write ${NAME} for a value that all users share",
        ),
        (
            "url: https://h/\n    headers: { authorization: x }\n    credentials: user",
            "c.yaml:5:18: server 's' has 'credentials: user' and credentials for everybody: an \
             Authorization header, or a user in 'url'\n  help: remove them, so that each user logs in; \
             or write '${user:NAME}' in the header",
        ),
        (
            "url: https://a:b@h/\n    credentials: user",
            "c.yaml:4:18: server 's' has 'credentials: user' and credentials for everybody: an \
             Authorization header, or a user in 'url'\n  help: remove them, so that each user logs in; \
             or write '${user:NAME}' in the header",
        ),
        (
            "url: https://h/\n    credentials: users",
            "c.yaml:4:18: 'users' is not a kind of credentials; it can be shared, user\n  help: did you \
             mean 'user'?",
        ),
    ];
    for (entry, expected) in rows {
        let errors = parse(&format!("servers:\n  - name: s\n    {entry}")).unwrap_err();
        assert_eq!(errors, expected);
    }
}
