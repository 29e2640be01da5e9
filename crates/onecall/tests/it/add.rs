//! Servers are added to the configuration and removed from it, in place.

use testkit::bins;

use crate::support::{CommandResult, Home, finish};

const CONFIG: &str = "home/config/onecall/config.yaml";

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    let mut ended = finish(home.onecall(arguments));
    let short = |text: &str| text.replace(&home.text_path(""), "[home]/");
    (ended.stdout, ended.stderr) = (short(&ended.stdout), short(&ended.stderr));
    ended
}

fn succeeds(home: &Home, arguments: &[&str]) -> CommandResult {
    let ended = onecall(home, arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

fn fails(home: &Home, arguments: &[&str]) -> String {
    let ended = onecall(home, arguments);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    ended.stderr
}

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.path(name)).unwrap()
}

#[test]
fn a_server_is_added_and_tried_out() {
    let home = Home::new();
    let server = bins::fixture_server().display().to_string();
    let ended = succeeds(&home, &["add", "first", "--", &server]);
    assert_eq!(ended.stderr, "Added 'first' to [home]/home/config/onecall/config.yaml\n");
    assert!(ended.stdout.contains("first   stdio         35  ready in "), "{}", ended.stdout);
    assert!(finish(home.onecall(&["tools"])).stdout.contains("mcp__first__add"));
}

#[test]
fn every_kind_of_server() {
    let home = Home::new();
    succeeds(
        &home,
        &[
            "add",
            "files",
            "--env",
            "TOKEN=${FILES_TOKEN}",
            "--env",
            "MODE=a=b",
            "--cwd",
            "/data",
            "--no-check",
            "--",
            "npx",
            "-y",
            "files server",
            "--verbose",
        ],
    );
    succeeds(
        &home,
        &[
            "add",
            "tracker",
            "https://mcp.example.com/mcp",
            "--transport",
            "sse",
            "--header",
            "Authorization: Bearer ${T}",
            "--no-check",
        ],
    );
    insta::assert_snapshot!(read(&home, CONFIG));
    insta::assert_snapshot!(succeeds(&home, &["list"]).stdout, @r"
    SERVER   TRANSPORT  HOW
    files    stdio      npx -y 'files server' --verbose
    tracker  sse        https://mcp.example.com/mcp
    ");
    insta::assert_snapshot!(succeeds(&home, &["list", "--json"]).stdout);
}

#[test]
fn a_server_that_does_not_answer_stays() {
    let home = Home::new();
    let ended = onecall(&home, &["add", "gone", "--", "/nowhere/at-all"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("to remove it, run `onecall remove gone`"), "{}", ended.stderr);
    assert!(read(&home, CONFIG).contains("gone"));
    let ended = onecall(&home, &["add", "later", "--env", "A=${NOT_SET}", "--", "x"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (
            Some(1),
            "onecall did not connect to later: NOT_SET has no value; store it with `onecall secrets set NOT_SET`, or set it in the environment of your client\n"
        )
    );
}

/// Servers are added to a configuration in each of its formats.
#[test]
fn whatever_it_is_written_in() {
    let files = [
        (
            "list.yaml",
            "# top\nservers: # all\n  - name: a # it\n    command: x\n\n  # about b\n  - name: b\n    command: y\n# end\nengine: auto\n",
        ),
        ("flat.yaml", "servers:\n- name: a\n  command: x\n- {name: b, command: y}\nengine: auto"),
        (
            "mapping.yaml",
            "mcpServers:\r\n    a:\r\n        command: x # x\r\n    b: { command: y }\r\n\r\nengine: auto\r\n",
        ),
        (
            "brackets.yaml",
            "servers: [{name: a, command: x}, {name: b, command: y}] # two\nengine: auto\n",
        ),
        (
            "list.json",
            "{\n  \"servers\": [\n    { \"name\": \"a\", \"command\": \"x\" },\n    { \"name\": \"b\", \"command\": \"y\" }\n  ],\n  \"engine\": \"auto\"\n}\n",
        ),
        (
            "mapping.json",
            "\u{feff}{\n\t\"engine\": \"auto\",\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"x\" },\n\t\t\"b\": { \"command\": \"y\" }\n\t}\n}",
        ),
        ("none.json", "{\"engine\": \"auto\"}"),
        ("empty.json", "{\"servers\": [], \"engine\": \"auto\"}"),
        ("none.yaml", "engine: auto\n"),
    ];
    let home = Home::new();
    let mut shown = String::new();
    for (name, text) in files {
        let path = home.write(&format!("work/{name}"), text);
        let path = path.to_str().unwrap();
        let names = || {
            let listed = succeeds(&home, &["list", "--json", "--config", path]).stdout;
            let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
            let servers = listed["servers"].as_array().unwrap().clone();
            servers
                .iter()
                .map(|server| server["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let before = names();
        succeeds(&home, &["add", "c d", "--no-check", "--config", path, "--", "z", "it's"]);
        assert_eq!(names(), [before.clone(), vec!["c d".to_owned()]].concat(), "{name}");
        shown += &format!("=== {name}\n{}\n", read(&home, &format!("work/{name}")));
        let checked = finish(home.onecall(&["check", "--config", path]));
        assert_eq!(checked.code, Some(1), "{name} is valid: {}", checked.stderr);
        succeeds(&home, &["remove", "c d", "--config", path]);
        assert_eq!(names(), before, "{name}");
        if !before.is_empty() {
            assert_eq!(read(&home, &format!("work/{name}")), text, "{name}");
        }
    }
    insta::assert_snapshot!(shown.replace('\r', "␍"));
}

#[test]
fn what_goes_takes_its_comment_along() {
    let home = Home::new();
    home.write("work/onecall.yaml", "servers:\n  # the first\n  - name: a\n    command: x\n  # the second\n  - name: b\n    command: y\n");
    succeeds(&home, &["trust"]);
    succeeds(&home, &["remove", "a"]);
    assert_eq!(
        read(&home, "work/onecall.yaml"),
        "servers:\n  # the second\n  - name: b\n    command: y\n"
    );
    succeeds(&home, &["remove", "b"]);
    assert_eq!(read(&home, "work/onecall.yaml"), "servers: []\n");
}

#[test]
fn mistakes() {
    let home = Home::new();
    succeeds(&home, &["add", "a", "--no-check", "--", "x"]);
    let file = "[home]/home/config/onecall/config.yaml";
    assert_eq!(
        fails(&home, &["add", "a", "--no-check", "--", "y"]),
        format!("error: there is already a server 'a' in {file}; --force replaces it\n")
    );
    succeeds(&home, &["add", "a", "--no-check", "--force", "--", "y"]);
    assert!(read(&home, CONFIG).contains("command: \"y\""), "{}", read(&home, CONFIG));
    assert_eq!(
        fails(&home, &["remove", "b"]),
        format!("error: there is no server 'b' in {file}; its servers: a\n")
    );
    assert_eq!(
        fails(&home, &["add", "b", "ftp://x"]),
        "error: 'ftp://x' is not an http:// or https:// address; if it is a command, write -- in \
         front of it, as in `onecall add b -- ftp://x`\n"
    );
    assert!(fails(&home, &["add", "local", "--", "x"]).contains("reserved"));
    assert!(fails(&home, &["add", "b"]).contains("Usage"));
    assert!(fails(&home, &["add", "b", "--env", "A", "--", "x"]).contains("NAME=VALUE"));
}

#[test]
fn trust_is_kept() {
    let home = Home::new();
    home.write("work/onecall.yaml", "servers: []\n");
    assert_eq!(finish(home.onecall(&["trust"])).code, Some(0));
    let server = bins::fixture_server().display().to_string();
    succeeds(&home, &["add", "a", "--", &server]);
    assert!(finish(home.onecall(&["tools"])).stdout.contains("mcp__a__add"));
}

#[test]
fn the_users_own_file_needs_no_trust() {
    let home = Home::new();
    home.write(CONFIG, "servers: []\n");
    let ended = succeeds(&home, &["add", "a", "--no-check", "--", "x"]);
    assert_eq!(ended.stderr, "Added 'a' to [home]/home/config/onecall/config.yaml\n");
}

#[test]
fn a_common_name_in_the_working_directory_may_be_anybodys() {
    let home = Home::new();
    home.write("work/config.yaml", "database: x\n");
    succeeds(&home, &["add", "a", "--no-check", "--", "x"]);
    assert_eq!(read(&home, "work/config.yaml"), "database: x\n");
    assert!(home.path(CONFIG).exists());
}
