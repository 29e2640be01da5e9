//! Secrets of users: stored with `onecall secrets --user`, and given to servers that refer to them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::mcp::Session;

use crate::support::{CommandResult, Gateway, Home, finish, fixture};

const VALUE: &str = "swordfish-4711";
const KEY_FILE: &str = "home/state/onecall/user-secrets.key";

/// Runs a command with this on its stdin.
fn with_input(mut command: Command, input: &[u8]) -> CommandResult {
    let pipe = Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    // A command that refuses its arguments does not read.
    _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    CommandResult {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn secrets(home: &Home, arguments: &[&str], input: &str) -> CommandResult {
    let mut command = home.onecall_with_config(&["secrets"]);
    command.args(arguments);
    let ended = with_input(command, input.as_bytes());
    assert!(!format!("{ended:?}").contains(VALUE), "{ended:?}");
    ended
}

/// A home whose only server has a variable with a secret of the user.
fn home() -> Home {
    let mut entry = fixture("fixture", &[]);
    entry["env"] = json!({ "TOKEN": "token ${user:TOKEN}", "SHARED": "s" });
    Home::with_config(&json!({ "servers": [entry] }))
}

/// Hides what differs between runs: paths, dates and the ids of keys.
fn stable(home: &Home, text: &str) -> String {
    let day = onecall_core::Timestamp::now().day();
    let text = text.replace(&home.text_path(""), "[home]/").replace(&day, "[today]");
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        if let Some((before, after)) = line.split_once("[today]T") {
            let rest = after.split_once('Z').map_or("", |(_, rest)| rest);
            line = format!("{before}[now]{rest}");
        }
        if let Some((before, after)) = line.split_once("the key ") {
            let is_digit = |character: char| character.is_ascii_hexdigit();
            let rest = after.trim_start_matches(is_digit);
            line = format!("{before}the key [id]{rest}");
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[test]
fn secrets_of_users_are_set_listed_rotated_and_removed() {
    let home = home();
    let value = format!("{VALUE}\n");
    let commands: [(&[&str], &str); 13] = [
        (&["list", "--all-users"], ""),
        (&["set", "TOKEN", "--user", "anna"], &value),
        (&["set", "UNUSED", "--user", "Bob B"], "x"),
        (&["set", "TOKEN", "--user", "anna"], &value),
        (&["list", "--user", "anna"], ""),
        (&["list", "--all-users"], ""),
        (&["list", "--all-users", "--json"], ""),
        (&["rotate"], ""),
        (&["remove", "TOKEN", "ABSENT", "--user", "anna"], ""),
        (&["remove", "TOKEN", "--user", "anna"], ""),
        (&["list", "--user", "anna", "--json"], ""),
        // The secrets of the person who runs onecall are others.
        (&["list", "--json"], ""),
        (&["list", "--user", "Bob B"], ""),
    ];
    let mut screen = String::new();
    for (arguments, input) in commands {
        let ended = secrets(&home, arguments, input);
        _ = writeln!(screen, "$ onecall secrets {}", arguments.join(" "));
        let text = format!("{:?}\n{}{}", ended.code, ended.stdout, ended.stderr);
        _ = writeln!(screen, "{}", stable(&home, &text));
    }
    insta::assert_snapshot!(screen);
    for file in home.state_files() {
        let bytes = std::fs::read(&file).unwrap();
        let is_in = bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes());
        assert!(!is_in, "the value is in {}", file.display());
    }
}

#[test]
fn what_cannot_be_a_secret_of_a_user_is_refused() {
    let home = home();
    let rows: [(&[&str], &str, &str); 7] = [
        (&["set", "1TOKEN", "--user", "anna"], "x", "this name is not valid"),
        (&["set", "TOKEN", "--user", "anna"], "", "the value is empty"),
        (&["set", "TOKEN", "--user", ""], "x", "a user's name must not be empty"),
        (&["set", "TOKEN", "--user", "LOCAL"], "x", "is reserved for the local user"),
        (&["set", "TOKEN", "value", "--user", "anna"], "", "a secret cannot be an argument"),
        (&["remove", "TOKEN", "--user", "anna"], "", "nothing was changed"),
        (&["list", "--user", "anna", "--all-users"], "", "cannot be used with"),
    ];
    for (arguments, input, expected) in rows {
        let ended = secrets(&home, arguments, input);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!home.path(KEY_FILE).exists(), "a key was made");
}

#[test]
fn a_lost_key_is_named_and_can_be_given_up() {
    let home = home();
    secrets(&home, &["set", "TOKEN", "--user", "anna"], VALUE);
    std::fs::remove_file(home.path(KEY_FILE)).unwrap();
    let listed = secrets(&home, &["list", "--user", "anna"], "");
    assert!(listed.stdout.contains("its key is missing"), "{listed:?}");
    let refused = secrets(&home, &["set", "OTHER", "--user", "bob"], "x");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("onecall secrets rotate --remove-unreadable"), "{refused:?}");
    let refused = secrets(&home, &["rotate"], "");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("which onecall does not have"), "{refused:?}");
    let given_up = secrets(&home, &["rotate", "--remove-unreadable", "--json"], "");
    let given_up: Value = serde_json::from_str(&given_up.stdout).unwrap();
    let removed = json!([{ "user": "anna", "kind": "secret", "name": "TOKEN" }]);
    assert_eq!((&given_up["removed"], &given_up["reencrypted"]), (&removed, &json!(0)));
    assert_eq!(secrets(&home, &["set", "TOKEN", "--user", "anna"], "x").code, Some(0));
}

#[test]
fn a_key_in_the_environment_is_used_instead_of_a_file() {
    let home = home();
    let (old, new) = (
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=",
    );
    let with_key = |key: &str, arguments: &[&str], input: &str| {
        let mut command = home.onecall_with_config(&["secrets"]);
        command.args(arguments).env("ONECALL_SECRETS_KEY", key);
        let ended = with_input(command, input.as_bytes());
        assert!(![&ended.stdout, &ended.stderr].iter().any(|text| text.contains(key)), "{ended:?}");
        ended
    };
    assert_eq!(with_key(old, &["set", "TOKEN", "--user", "local"], VALUE).code, Some(0));
    assert!(!home.path(KEY_FILE).exists());
    assert_eq!(with_key(&format!("{new},{old}"), &["rotate"], "").code, Some(0));
    let listed = with_key(old, &["list", "--all-users"], "");
    assert!(listed.stdout.contains("its key is missing"), "{listed:?}");
    let invalid = with_key("not a key", &["list", "--all-users"], "");
    assert_eq!(invalid.code, Some(2));
    assert!(invalid.stderr.contains("in ONECALL_SECRETS_KEY is not valid"), "{invalid:?}");

    home.write("program.py", "print(await mcp__fixture__env(name='TOKEN'))");
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    command.env("ONECALL_SECRETS_KEY", new);
    assert_eq!(finish(command).stdout, format!("token {VALUE}\n"));
}

#[test]
fn the_local_user_gets_own_secrets() {
    let home = home();
    let program = "
        for name in ['TOKEN', 'SHARED']:
            print(await mcp__fixture__env(name=name))
    ";
    let missing = home.run(program);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(
        missing
            .stderr
            .contains("it needs the secret TOKEN; store it with `onecall secrets set TOKEN`"),
        "{missing:?}"
    );
    // A secret of another user is not used.
    secrets(&home, &["set", "TOKEN", "--user", "anna"], "of anna");
    assert_eq!(home.run(program).code, Some(1));
    let of_person = with_input(home.onecall(&["secrets", "set", "TOKEN"]), b"of the file");
    assert_eq!(of_person.code, Some(0), "{of_person:?}");
    assert_eq!(home.run(program).stdout, "token of the file\ns\n");
    secrets(&home, &["set", "TOKEN", "--user", "local"], VALUE);
    assert_eq!(home.run(program).stdout, format!("token {VALUE}\ns\n"));

    // Neither records nor logs contain it.
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "trace"]));
    let mut gateway = Gateway { session, home };
    let printed = gateway.prints("print(await mcp__fixture__env(name='TOKEN'))");
    assert_eq!(printed, format!("token {VALUE}\n"));
    assert!(!gateway.session.client().stderr().contains(VALUE));
    let Gateway { session, home } = gateway;
    drop(session);
    for file in home.state_files() {
        let bytes = std::fs::read(&file).unwrap();
        let is_in = bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes());
        assert!(!is_in, "the value is in {}", file.display());
    }
}

#[test]
fn a_user_who_cannot_log_in_gets_no_secret() {
    let home = home();
    let with_users = |users: &Value| {
        let mut config: Value =
            serde_json::from_str(&std::fs::read_to_string(home.path("config.json")).unwrap())
                .unwrap();
        config["users"] = users.clone();
        home.write("config.json", config.to_string());
    };
    let set = |user: &str| secrets(&home, &["set", "TOKEN", "--user", user], VALUE);
    with_users(&json!({ "public_url": "https://onecall.example" }));
    let refused = set("ana");
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(2),
            "error: there is no user 'ana', and nothing was stored; `onecall users add ana` adds the user\n"
        )
    );
    assert_eq!(finish(home.onecall_with_config(&["users", "add", "anna"])).code, Some(0));
    let stored = set("anna");
    assert_eq!((stored.code, stored.stderr.contains("Note")), (Some(0), false), "{stored:?}");
    assert_eq!(set("local").code, Some(0));

    // With an identity provider, a user may log in later for the first time.
    with_users(&json!({
        "public_url": "https://onecall.example", "oidc": { "issuer": "https://idp.example" },
    }));
    let noted = set("ana");
    assert_eq!(noted.code, Some(0));
    assert!(noted.stderr.contains("Note: user ana is not known yet"), "{}", noted.stderr);
}
