//! What `onecall doctor` says about a gateway for several people.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::identity_provider::IdentityProvider;

use crate::support::{Home, finish, fixture};

/// A home with policies, and a server with a secret of each user.
fn home(issuer: &str) -> Home {
    let home = Home::new();
    let mut own = fixture("own", &[]);
    own["env"] = json!({ "TOKEN": "${user:TOKEN}" });
    home.write("policy/team.cedar", "permit(principal, action, resource);");
    let users = json!({ "public_url": "https://onecall.example", "oidc": { "issuer": issuer } });
    let config = json!({ "servers": [own], "users": users, "policy": home.path("policy") });
    home.write("config.json", config.to_string());
    home
}

/// The findings of a section: name, verdict and summary.
fn findings(home: &Home, section: &str) -> Vec<(String, String, String)> {
    let ended = finish(home.onecall_with_config(&["doctor", "--json"]));
    let report: Value = serde_json::from_str(&ended.stdout).expect("one JSON object");
    let text =
        |value: &Value| value.as_str().unwrap_or_default().replace(&home.text_path(""), "~/");
    let found = report[section].as_array().expect("the section").iter();
    found.map(|it| (text(&it["name"]), text(&it["verdict"]), text(&it["summary"]))).collect()
}

fn row(name: &str, verdict: &str, summary: &str) -> (String, String, String) {
    (name.to_owned(), verdict.to_owned(), summary.to_owned())
}

#[test]
fn a_team_whose_parts_are_there_is_green() {
    let provider = IdentityProvider::start();
    let _ = provider.add_key("one", "RS256");
    let home = home(&provider.issuer());
    assert_eq!(finish(home.onecall_with_config(&["users", "add", "anna"])).code, Some(0));
    let key = "~/home/state/onecall/user-secrets.key";
    assert_eq!(
        findings(&home, "users"),
        [
            row("people", "green", "1 user"),
            row("provider", "green", &format!("{} answers with its keys", provider.issuer())),
            row("key", "green", &format!("{key}, created with the first secret")),
            row("policy", "green", "1 policy in ~/policy"),
        ]
    );
    let summary = "runs with the credentials of each user, and is not started here";
    assert_eq!(findings(&home, "servers"), [row("own", "green", summary)]);
}

#[test]
fn what_is_wrong_is_red() {
    let home = home("http://127.0.0.1:9");
    let mut set = home.onecall_with_config(&["secrets", "set", "TOKEN", "--user", "local"]);
    set.stdin(Stdio::piped()).stderr(Stdio::null());
    let mut set = set.spawn().expect("onecall starts");
    std::io::Write::write_all(&mut set.stdin.take().expect("a pipe"), b"x").expect("it reads");
    assert!(set.wait().expect("it ends").success());
    let key = home.path("home/state/onecall/user-secrets.key");
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).expect("the file is there");
    home.write("policy/team.cedar", "permit(principal, action, resource)");
    let found = findings(&home, "users");
    let verdicts: Vec<_> =
        found.iter().map(|(name, verdict, _)| (name.as_str(), verdict.as_str())).collect();
    let expected = [("people", "green"), ("provider", "red"), ("key", "red"), ("policy", "red")];
    assert_eq!(verdicts, expected, "{found:?}");
}
