//! `onecall users` on the command line.

use serde_json::{Value, json};

use crate::support::{CommandResult, Home, finish};

fn home() -> Home {
    Home::with_config(&json!({ "users": {} }))
}

fn run(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall_with_config(&[&["users"], arguments].concat()))
}

/// The exit code and the output, without what differs from run to run.
fn shown(home: &Home, arguments: &[&str]) -> String {
    let ended = run(home, arguments);
    let code = ended.code.unwrap();
    format!("{code}\n{}{}", ended.stdout, ended.stderr)
}

fn json_of(home: &Home, arguments: &[&str]) -> Value {
    let ended = run(home, arguments);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

#[test]
fn users_are_added_listed_and_removed() {
    let home = home();
    insta::assert_snapshot!(shown(&home, &["list"]), @r"
    0
    There are no users; `onecall users add NAME` adds one
    ");
    insta::assert_snapshot!(shown(&home, &["add", "anna", "--group", "dev", "--group", "admin"]), @r"
    0
    Added anna, with the groups admin, dev; `onecall users token` makes a token
    ");
    insta::assert_snapshot!(shown(&home, &["add", "ben@example.com"]), @r"
    0
    Added ben@example.com, without groups; `onecall users token` makes a token
    ");
    insta::assert_snapshot!(shown(&home, &["list"]), @r"
    0
    NAME             STATE   FROM   LAST SEEN  GROUPS
    anna             active  added  never      admin, dev
    ben@example.com  active  added  never      -
    ");
    insta::assert_snapshot!(shown(&home, &["add", "anna"]), @r"
    0
    Changed anna, without groups; `onecall users token` makes a token
    ");
    insta::assert_snapshot!(shown(&home, &["add", "Anna"]), @r"
    1
    error: the user 'anna' has a name that differs from 'Anna' only in case or Unicode form; use 'anna', or choose another name
    ");
    insta::assert_snapshot!(shown(&home, &["remove", "ben@example.com"]), @r"
    0
    Removed ben@example.com
    ");
    insta::assert_snapshot!(shown(&home, &["remove", "ben@example.com"]), @r"
    0
    ben@example.com had been removed before
    ");
    insta::assert_snapshot!(shown(&home, &["remove", "clara"]), @r"
    1
    error: there is no user 'clara'; `onecall users list` shows all users
    ");
    insta::assert_snapshot!(shown(&home, &["list"]), @r"
    0
    NAME             STATE    FROM   LAST SEEN  GROUPS
    anna             active   added  never      -
    ben@example.com  removed  added  never      -
    ");
    insta::assert_snapshot!(shown(&home, &["token", "ben@example.com"]), @r"
    1
    error: the user 'ben@example.com' was removed; `onecall users add ben@example.com` lets the user in again
    ");
    insta::assert_snapshot!(shown(&home, &["add", "ben@example.com"]), @r"
    0
    ben@example.com may log in again, without groups; `onecall users token` makes a token
    ");
}

#[test]
fn names_and_groups_are_checked() {
    let home = home();
    insta::assert_snapshot!(shown(&home, &["add", ""]), @r"
    2
    error: a user's name must not be empty, nor begin or end with a space
    ");
    insta::assert_snapshot!(shown(&home, &["add", "local"]), @r"
    2
    error: the name 'local' is reserved for the local user
    ");
    insta::assert_snapshot!(shown(&home, &["add", "an\u{200b}na"]), @r"
    2
    error: a user's name must not contain control characters or invisible characters
    ");
    insta::assert_snapshot!(shown(&home, &["add", "anna", "--group", ""]), @r"
    2
    error: the group '' cannot be used: a group's name must not be empty, has at most 256 bytes, and contains only visible characters
    ");
    insta::assert_snapshot!(shown(&home, &["token", "anna", "--expires", "2y"]), @r"
    2
    error: invalid value '2y' for '--expires <TIME>': write a number and a unit, such as 30s, 15m, 2h, 7d or 4w

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(shown(&home, &["token", "anna", "--expires", "367d"]), @r"
    2
    error: invalid value '367d' for '--expires <TIME>': a token can be used for at most 366d

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(shown(&home, &["token", "anna", "--expires", "0s"]), @r"
    2
    error: invalid value '0s' for '--expires <TIME>': a token that ends at once cannot be used

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(shown(&home, &["token", "anna"]), @r"
    1
    error: there is no user 'anna'; `onecall users add anna` adds the user
    ");
    insta::assert_snapshot!(shown(&home, &["tokens", "anna"]), @r"
    1
    error: there is no user 'anna'; `onecall users list` shows all users
    ");
    insta::assert_snapshot!(shown(&home, &["revoke", "0011223344"]), @r"
    1
    error: there is no token '0011223344'; `onecall users tokens` lists all tokens
    ");
    insta::assert_snapshot!(shown(&home, &["tokens"]), @r"
    0
    There are no tokens; `onecall users token NAME` makes one
    ");
}

#[test]
fn a_token_is_shown_once_and_alone_on_stdout() {
    let home = home();
    run(&home, &["add", "anna"]);
    let made = run(&home, &["token", "anna", "--expires", "30d", "--label", "laptop"]);
    let token = made.stdout.trim_end();
    assert!(token.starts_with("oc_") && token.len() == 46, "{token}");
    let listed = json_of(&home, &["tokens", "anna", "--json"]);
    let id = listed[0]["id"].as_str().unwrap();
    let expires = listed[0]["expires"].as_str().unwrap();
    assert_eq!(
        made.stderr,
        format!(
            "This token of anna can be used until {}. It is not shown again; `onecall users revoke \
             {id}` deletes it\n",
            &expires[..10]
        )
    );
    assert_eq!(
        listed,
        json!([{
            "id": id,
            "user": "anna",
            "label": "laptop",
            "created": listed[0]["created"],
            "expires": expires,
            "last_used": null,
        }])
    );
    let second = json_of(&home, &["token", "anna", "--json"]);
    assert!(second["token"].as_str().unwrap().starts_with("oc_"));
    assert_eq!(json_of(&home, &["tokens", "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(json_of(&home, &["revoke", id, "--json"]), json!({ "id": id, "revoked": true }));
    assert_eq!(json_of(&home, &["revoke", id, "--json"]), json!({ "id": id, "revoked": false }));
    let removed = json_of(&home, &["remove", "anna", "--json"]);
    assert_eq!(removed, json!({ "name": "anna", "removed": true, "tokens": 1 }));
    assert_eq!(json_of(&home, &["tokens", "--json"]), json!([]));
}

#[test]
fn json_has_everything_that_is_known_of_a_user() {
    let home = home();
    let added = json_of(&home, &["add", "anna", "--group", "dev", "--json"]);
    assert_eq!(added, json!({ "name": "anna", "added": true, "groups": ["dev"] }));
    let similar = json_of(&home, &["add", "ANNA", "--json"]);
    assert_eq!(similar, json!({ "name": "ANNA", "added": false, "similar": "anna" }));
    let listed = json_of(&home, &["list", "--json"]);
    assert_eq!(
        listed,
        json!([{
            "name": "anna",
            "groups": ["dev"],
            "source": "added",
            "created": listed[0]["created"],
            "last_seen": null,
            "removed": null,
        }])
    );
}

#[test]
fn without_users_in_the_configuration_there_is_a_note() {
    let home = Home::with_config(&json!({}));
    insta::assert_snapshot!(shown(&home, &["add", "anna"]), @r"
    0
    Note: the configuration has no `users`, so `onecall serve --http` does not use them
    Added anna, without groups; `onecall users token` makes a token
    ");
}

#[test]
fn a_user_can_have_a_hundred_tokens() {
    let home = home();
    run(&home, &["add", "anna"]);
    for _ in 0..100 {
        assert_eq!(run(&home, &["token", "anna"]).code, Some(0));
    }
    insta::assert_snapshot!(shown(&home, &["token", "anna"]), @r"
    1
    error: the user 'anna' has 100 tokens already; `onecall users revoke ID` deletes one
    ");
}
