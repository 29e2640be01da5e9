//! Servers are disabled and enabled in the configuration, which is otherwise left as it is.

use serde_json::json;

use crate::support::{CommandResult, Home, finish, fixture};

fn onecall(home: &Home, file: &str, arguments: &[&str]) -> CommandResult {
    let path = home.text_path(file);
    let mut ended = finish(home.onecall(&[&["--config", &path], arguments].concat()));
    ended.stderr = ended.stderr.replace(&home.text_path(""), "[home]/");
    ended
}

/// Two servers, in each format of a configuration.
const FILES: [(&str, &str); 6] = [
    (
        "list.yaml",
        "# top\nservers: # all\n  - name: a # it\n    command: x # c\n    # last of a\n\n  # about b\n  - command: y\n    name: b\n    env:\n      A: 1\n# end\nengine: auto\n",
    ),
    ("flat.yaml", "servers:\n- name: a\n  command: x\n- {name: b, command: y}\nengine: auto"),
    (
        "mapping.yaml",
        "mcpServers:\r\n    a:\r\n        command: x # x\r\n    b: { command: 'y, z' }\r\n\r\nengine: auto\r\n",
    ),
    ("brackets.yaml", "servers: [{name: a, command: x}, {name: b, command: y}] # two\n"),
    (
        "map.json",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t},\n\t\t\"b\": { \"command\": \"y\" }\n\t}\n}\n",
    ),
    (
        "list.json",
        "{\"servers\": [{\"name\": \"a\", \"command\": \"x\"}, {\"name\": \"b\", \"command\": \"y\"}]}",
    ),
];

#[test]
fn whatever_the_configuration_is_written_in() {
    let home = Home::new();
    let mut disabled = String::new();
    for (file, text) in FILES {
        home.write(file, text);
        let read = || std::fs::read_to_string(home.path(file)).unwrap();
        let ended = onecall(&home, file, &["disable", "a", "b", "a"]);
        let said = format!("Disabled 'a' in [home]/{file}\nDisabled 'b' in [home]/{file}\n");
        assert_eq!((ended.code, ended.stderr), (Some(0), said));
        disabled.push_str(&format!("--- {file}\n{}\n", read().replace('\r', "\\r")));
        let list = onecall(&home, file, &["list", "--json"]).stdout;
        assert_eq!(list.matches("\"disabled\": true").count(), 2, "{list}");
        assert_eq!(onecall(&home, file, &["enable", "b", "a"]).code, Some(0));
        assert_eq!(read(), text, "{file}");
    }
    insta::assert_snapshot!(disabled);
}

#[test]
fn a_disabled_server_has_no_tools() {
    let home = Home::with_config(&json!({ "servers": [fixture("one", &[]), fixture("two", &[])] }));
    let has = |name: &str| onecall(&home, "config.json", &["tools"]).stdout.contains(name);
    assert_eq!(onecall(&home, "config.json", &["disable", "one"]).code, Some(0));
    assert_eq!((has("mcp__one__add"), has("mcp__two__add")), (false, true));
    assert_eq!(onecall(&home, "config.json", &["enable", "one"]).code, Some(0));
    assert_eq!((has("mcp__one__add"), has("mcp__two__add")), (true, true));
}

#[test]
fn all_or_none() {
    let home = Home::new();
    let text = "servers:\n  - name: a\n    command: x\n    disabled: true # why\n  - disabled: true\n    name: b\n    command: y\n";
    home.write("c.yaml", text);
    let read = || std::fs::read_to_string(home.path("c.yaml")).unwrap();
    for command in ["enable", "disable", "remove"] {
        let ended = onecall(&home, "c.yaml", &[command, "a", "c"]);
        let said = "error: there is no server 'c' in [home]/c.yaml; its servers: a, b\n";
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), said));
        assert_eq!(read(), text);
    }
    let ended = onecall(&home, "c.yaml", &["disable", "a"]);
    let said = "'a' is already disabled in [home]/c.yaml\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), said));
    assert_eq!(onecall(&home, "c.yaml", &["enable", "a", "b"]).code, Some(0));
    // The field stands on the line of the dash, which has to stay.
    assert_eq!(
        read(),
        "servers:\n  - name: a\n    command: x\n  - disabled: false\n    name: b\n    command: y\n"
    );
    let ended = onecall(&home, "c.yaml", &["remove", "a", "b"]);
    let said = "Removed 'a' from [home]/c.yaml\nRemoved 'b' from [home]/c.yaml\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), said));
    assert_eq!(read(), "servers: []\n");
}

#[test]
fn a_server_is_added_without_dashes_before_its_command() {
    let home = Home::new();
    let add = |arguments: &[&str]| {
        let ended = onecall(&home, "new.yaml", &[&["add", "--no-check"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    };
    add(&["one", "--env", "A=b", "npx", "-y", "files", "--config", "x", "--", "y"]);
    add(&["two", "--", "npx", "-y"]);
    add(&["three", "https://mcp.example.com/mcp", "--transport", "sse"]);
    insta::assert_snapshot!(onecall(&home, "new.yaml", &["list"]).stdout, @r"
    SERVER  TRANSPORT  HOW
    one     stdio      npx -y files --config x -- y
    two     stdio      npx -y
    three   sse        https://mcp.example.com/mcp
    ");
}
