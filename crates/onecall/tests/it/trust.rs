//! A configuration that merely lies in the working directory starts nothing
//! until its user has said so.

use serde_json::json;
use testkit::mcp::Session;

use crate::support::{CommandResult, Home, finish, fixture};

/// Where a configuration is and how it is called.
fn home() -> Home {
    let home = Home::new();
    let config = json!({ "servers": [fixture("found", &[])] });
    home.write("work/onecall.yaml", config.to_string());
    home
}

/// What `onecall` says, without the time of a log line and the temporary folder.
fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    let mut ended = finish(home.onecall(arguments));
    let short = |line: &str| {
        let line = line.split_once("  WARN ").map_or(line, |(_, warning)| warning);
        line.replace(&home.text_path("work"), "[work]") + "\n"
    };
    ended.stderr = ended.stderr.lines().map(short).collect();
    ended
}

fn refusal(why: &str) -> String {
    format!(
        "'[work]/onecall.yaml' is not read: {why}; read it yourself, then run `onecall trust \
         [work]/onecall.yaml`\n"
    )
}

#[test]
fn a_configuration_is_read_while_it_is_trusted() {
    let home = home();
    let untrusted = refusal("it is not trusted, and it could start programs");
    let ended = onecall(&home, &["tools"]);
    assert_eq!(ended, CommandResult { code: Some(1), stdout: String::new(), stderr: untrusted });

    let ended = onecall(&home, &["trust"]);
    let said = "Trusted [work]/onecall.yaml until it changes. It starts: found\n".to_owned();
    assert_eq!(ended, CommandResult { code: Some(0), stdout: String::new(), stderr: said });
    let ended = onecall(&home, &["tools"]);
    let using = "Using [work]/onecall.yaml, trusted in the working directory\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), using));
    assert_eq!(ended.stdout.lines().count(), 35);
    assert!(ended.stdout.starts_with("mcp__found__add "), "{}", ended.stdout);

    let config = json!({ "servers": [fixture("changed", &[])] });
    home.write("work/onecall.yaml", config.to_string());
    let changed = refusal("it has changed since you trusted it");
    let ended = onecall(&home, &["tools"]);
    assert_eq!(ended, CommandResult { code: Some(1), stdout: String::new(), stderr: changed });
}

#[test]
fn an_untrusted_configuration_starts_nothing_when_serving() {
    let home = home();
    let log = home.path("started");
    let config = json!({ "servers": [fixture("found", &["--log", &home.text_path("started")])] });
    home.write("work/onecall.yaml", config.to_string());
    let mut session = Session::open(home.onecall(&["serve"]));
    assert_eq!(session.call_tool("list_callable_tools", json!({})).text, "[]");
    assert!(session.client().stderr().contains("is not trusted"));
    assert!(!log.exists(), "the server was never started");
}

/// Every command that reads or changes the configuration.
const COMMANDS: [&[&str]; 24] = [
    &["list"],
    &["list", "--json"],
    &["server-names"],
    &["config", "path"],
    &["config", "get", "servers"],
    &["config", "set", "engine", "auto"],
    &["add", "--no-check", "mine", "true"],
    &["enable", "mine"],
    &["disable", "mine"],
    &["remove", "mine"],
    &["init", "--yes", "--no-check"],
    &["install", "--dry-run", "cursor"],
    &["tools"],
    &["tools", "show", "mcp__found__add"],
    &["tools", "forget"],
    &["call", "found.add", "a=1", "b=2"],
    &["run", "-e", "print(await list_resources())"],
    &["generate", "--lang", "python", "--out", "out"],
    &["check"],
    &["pin", "found"],
    &["login", "found"],
    &["runs"],
    &["stats"],
    &["cache", "stats"],
];

#[test]
fn no_command_reads_a_file_that_is_not_trusted() {
    let home = Home::new();
    let marked = |name: &str| {
        let config =
            json!({ "servers": [fixture("found", &["--log", &home.text_path("started")])] });
        home.write(&format!("work/{name}"), config.to_string())
    };
    for name in ["onecall.yaml", "config.yaml"] {
        let file = marked(name);
        let before = std::fs::read(&file).unwrap();
        for arguments in COMMANDS {
            let ended = onecall(&home, arguments);
            let said = ended.stderr.replace("'found'", "").replace("'mcp__found__add'", "");
            let said = said.replace("'found.add'", "");
            assert!(!said.contains("found"), "{arguments:?}: {ended:?}");
            assert!(!ended.stdout.contains("found"), "{arguments:?}: {ended:?}");
            assert!(!home.path("started").exists(), "{arguments:?}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), before);
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_trusted_file_that_has_changed_is_neither_read_nor_changed() {
    let home = home();
    assert_eq!(onecall(&home, &["trust"]).code, Some(0));
    assert!(onecall(&home, &["list"]).stdout.contains("found"));
    home.write("work/onecall.yaml", "servers: [{ name: other, command: x }]\n");
    let warning = refusal("it has changed since you trusted it");
    let none = CommandResult { code: Some(0), stdout: String::new(), stderr: warning };
    assert_eq!(onecall(&home, &["list"]), none);
    let refused = "error: '[work]/onecall.yaml' has changed since you trusted it; read it, then run \
                   `onecall trust [work]/onecall.yaml`\n";
    for arguments in [&["remove", "other"][..], &["add", "--no-check", "a", "x"]] {
        let ended = onecall(&home, arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), refused), "{arguments:?}");
    }
}

#[test]
fn a_configuration_that_is_named_needs_no_trust() {
    let home = home();
    let ended = onecall(&home, &["tools", "--config", "onecall.yaml"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let mut command = home.onecall(&["tools"]);
    command.env("ONECALL_CONFIG", home.path("work/onecall.yaml"));
    let ended = finish(command);
    let using = format!("Using {}, named by ONECALL_CONFIG\n", home.text_path("work/onecall.yaml"));
    assert_eq!((ended.code, ended.stderr), (Some(0), using));
}

#[test]
fn trust_belongs_to_one_file_and_one_user() {
    let home = home();
    assert_eq!(onecall(&home, &["trust"]).code, Some(0));
    // A file with equal content in another folder, and another user.
    let elsewhere = home.path("work/elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(home.path("work/onecall.yaml"), elsewhere.join("onecall.yaml")).unwrap();
    let mut command = home.onecall(&["tools"]);
    command.current_dir(&elsewhere);
    assert_eq!(finish(command).code, Some(1));
    let mut command = home.onecall(&["tools"]);
    command.env("XDG_STATE_HOME", home.path("another"));
    assert_eq!(finish(command).code, Some(1));
}

#[test]
fn what_is_no_configuration_cannot_be_trusted() {
    let home = Home::new();
    let none = onecall(&home, &["trust"]);
    let said = "error: there is no onecall.yaml or config.yaml here; name the file to trust\n";
    assert_eq!((none.code, none.stderr.as_str()), (Some(2), said));
    home.write("work/onecall.yaml", "servres: []\n");
    let broken = onecall(&home, &["trust"]);
    assert_eq!(broken.code, Some(2));
    assert_eq!(
        broken.stderr,
        "error: onecall.yaml:1:1: unknown key 'servres' in the configuration\n  \
         help: did you mean 'servers'?\n"
    );
}

#[test]
fn no_configuration_at_all_is_fine() {
    let home = Home::new();
    let ended = onecall(&home, &["check"]);
    let said =
        "No configuration file found, so there are no servers: run `onecall init`\n".to_owned();
    assert_eq!(ended, CommandResult { code: Some(0), stdout: said, stderr: String::new() });

    let mut session = Session::open(home.onecall(&["serve"]));
    assert_eq!(session.call_tool("list_callable_tools", json!({})).text, "[]");
    let answer = session.call_tool("execute_program", json!({ "code": "print('hi')" }));
    assert_eq!(answer.text, "[Script executed successfully]\nhi\n");
    assert_eq!(session.client().stderr(), "");
}

#[test]
fn the_users_own_configuration_is_the_last_resort() {
    let home = Home::new();
    let config = json!({ "servers": [fixture("own", &[])] });
    home.write("home/config/onecall/config.yaml", config.to_string());
    let ended = onecall(&home, &["tools"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("mcp__own__add "), "{}", ended.stdout);
}
