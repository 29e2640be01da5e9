//! onecall comes into the configuration of a client and goes again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use testkit::bins;

use crate::support::{CommandResult, Home, finish};

const CURSOR: &str = "home/.cursor/mcp.json";
const CLAUDE: &str = "home/.claude.json";

const SETTINGS: &str = r#"{
  // What the editor starts.
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"] }, // now
    "tickets": {
      "command": "tickets-server",
      "env": { "TICKETS_TOKEN": "s3cret-value" }
    },
    "other": { "command": "something-else" }
  }
}
"#;

const CONFIG: &str = "\
servers:
  - name: time
    command: uvx
    args: [mcp-server-time]
  - name: tickets
    command: tickets-server
    env: { TICKETS_TOKEN: \"${TICKETS_TOKEN}\" }
";

fn home() -> Home {
    let home = Home::new();
    home.write("home/config/onecall/config.yaml", CONFIG);
    home.write(CURSOR, SETTINGS);
    home
}

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    shortened(home, finish(home.onecall(arguments)))
}

fn shortened_text(home: &Home, text: &str) -> String {
    let program = bins::onecall().display().to_string();
    text.replace(&program, "[onecall]").replace(&home.text_path(""), "[home]/")
}

fn shortened(home: &Home, mut ended: CommandResult) -> CommandResult {
    let short = |text: &str| {
        let text = shortened_text(home, text);
        let line = |line: &str| match line.split_once(".onecall-backup-") {
            Some((before, after)) => {
                let end = if after.ends_with(')') { ")" } else { "" };
                format!("{before}.onecall-backup-[time]{end}\n")
            }
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect::<String>()
    };
    (ended.stdout, ended.stderr) = (short(&ended.stdout), short(&ended.stderr));
    ended
}

fn output_text(ended: &CommandResult) -> String {
    format!("{:?}\n--- stdout\n{}--- stderr\n{}", ended.code, ended.stdout, ended.stderr)
}

fn succeeds(home: &Home, arguments: &[&str]) -> CommandResult {
    let ended = onecall(home, arguments);
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    ended
}

fn read(home: &Home, name: &str) -> String {
    fs::read_to_string(home.path(name)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn entry(home: &Home, name: &str) -> Value {
    let document: Value = serde_json::from_str(&read(home, name)).unwrap();
    document["mcpServers"]["onecall"].clone()
}

#[test]
fn it_comes_and_goes() {
    let home = home();
    let ended = succeeds(&home, &["install", "cursor", "--yes"]);
    insta::assert_snapshot!(output_text(&ended));
    let with = read(&home, CURSOR);
    let files = names(&home.path("home/.cursor"));
    let [name, backup] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(name, "mcp.json");
    assert_eq!(read(&home, &format!("home/.cursor/{backup}")), SETTINGS);

    let again = succeeds(&home, &["install", "cursor", "--yes"]);
    assert_eq!(again.stderr, "Cursor: onecall is already installed\n");
    assert_eq!(read(&home, CURSOR), with);

    succeeds(&home, &["uninstall", "cursor", "--yes"]);
    assert_eq!(read(&home, CURSOR), SETTINGS);
    assert_eq!(names(&home.path("home/.cursor")), ["mcp.json"]);
    let again = succeeds(&home, &["uninstall", "cursor", "--yes"]);
    assert_eq!(again.stderr, "Cursor: onecall is not installed\n");
}

#[test]
fn it_takes_the_place_of_what_it_bridges() {
    let home = home();
    let ended = succeeds(&home, &["install", "cursor", "--replace", "--yes"]);
    insta::assert_snapshot!(output_text(&ended));
    // The user goes on editing.
    let edited = read(&home, CURSOR).replace("something-else", "something-new");
    home.write(CURSOR, &edited);
    let ended = succeeds(&home, &["uninstall", "cursor", "--yes"]);
    assert!(!output_text(&ended).contains("s3cret"), "{}", output_text(&ended));
    insta::assert_snapshot!("back_after_an_edit", read(&home, CURSOR));
}

#[test]
fn edits_between_two_installations_stay() {
    let home = home();
    succeeds(&home, &["install", "cursor", "--replace", "--yes"]);
    // The user adds a server and a comment, and a variable to the entry of onecall.
    let edited = read(&home, CURSOR)
        .replace("// What the editor starts.", "// What the editor starts.\n  // A note.")
        .replace(
            "something-else\" }",
            "something-else\" },\n    \"new\": { \"command\": \"new-server\" }",
        )
        .replace(
            "\"args\": [\"serve\"",
            "\"env\": { \"TICKETS_TOKEN\": \"t\" },\n      \"args\": [\"serve\"",
        );
    home.write(CURSOR, &edited);
    // Another configuration: the entry changes.
    home.write("other.yaml", CONFIG);
    let other = home.text_path("other.yaml");
    let ended = succeeds(&home, &["install", "cursor", "--config", &other, "--yes"]);
    assert!(!output_text(&ended).contains("s3cret"), "{}", output_text(&ended));
    insta::assert_snapshot!(
        "installed_again_after_an_edit",
        shortened_text(&home, &read(&home, CURSOR))
    );
    succeeds(&home, &["uninstall", "cursor", "--yes"]);
    insta::assert_snapshot!("uninstalled_after_an_edit_in_between", read(&home, CURSOR));
}

#[test]
fn what_was_replaced_comes_back_to_the_byte() {
    let home = home();
    let codex = "model = \"x\" # it\n\n# the clock\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n\n[tui]\nx = 1";
    home.write("home/.codex/config.toml", codex);
    let continue_ = "name: mine\r\nmcpServers: # all\r\n- name: time # now\r\n  command: uvx\r\n  args: [mcp-server-time]\r\nrules: []\r\n";
    home.write("home/.continue/config.yaml", continue_);
    succeeds(&home, &["install", "--replace", "--yes", "codex", "continue", "cursor"]);
    let replaced = read(&home, "home/.codex/config.toml");
    assert!(!replaced.contains("mcp_servers.time"), "{replaced}");
    assert!(replaced.contains("env_vars = [\"TICKETS_TOKEN\"]"), "{replaced}");
    assert!(!read(&home, "home/.continue/config.yaml").contains("name: time"));
    succeeds(&home, &["uninstall", "--yes", "codex", "continue", "cursor"]);
    assert_eq!(read(&home, "home/.codex/config.toml"), codex);
    assert_eq!(read(&home, "home/.continue/config.yaml"), continue_);
    assert_eq!(read(&home, CURSOR), SETTINGS);
}

#[test]
fn every_client_without_a_file_gets_one_and_loses_it() {
    let home = Home::new();
    home.write("home/config/onecall/config.yaml", CONFIG);
    let clients = [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "windsurf",
        "codex",
        "gemini",
        "zed",
        "continue",
    ];
    let mut command = home.onecall(&["install", "--yes"]);
    command.args(clients).env("PATH", "/usr/bin:/bin");
    let ended = finish(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let files = [
        "home/.claude.json",
        "home/config/Claude/claude_desktop_config.json",
        "home/.cursor/mcp.json",
        "home/config/Code/User/mcp.json",
        "home/.codeium/windsurf/mcp_config.json",
        "home/.codex/config.toml",
        "home/.gemini/settings.json",
        "home/config/zed/settings.json",
        "home/.continue/config.yaml",
    ];
    let program = bins::onecall().display().to_string();
    let text = |file: &&str| {
        let text = read(&home, file)
            .replace(&program, "[onecall]")
            .replace(&home.text_path(""), "[home]/");
        format!("=== {file}\n{text}\n")
    };
    insta::assert_snapshot!(files.iter().map(text).collect::<String>());
    let mut command = home.onecall(&["uninstall", "--yes"]);
    command.args(clients).env("PATH", "/usr/bin:/bin");
    assert_eq!(finish(command).code, Some(0));
    for file in files {
        assert!(!home.path(file).exists(), "{file}");
    }
}

#[test]
fn a_project_has_files_of_its_own() {
    let home = home();
    succeeds(&home, &["install", "--project", "--yes", "claude-code", "vscode", "continue"]);
    assert_eq!(entry(&home, "work/.mcp.json")["type"], "stdio");
    assert!(read(&home, "work/.vscode/mcp.json").contains("\"servers\""));
    let file = read(&home, "work/.continue/mcpServers/onecall.yaml");
    assert!(
        file.starts_with(
            "name: onecall\nversion: 0.0.1\nschema: v1\n\nmcpServers:\n  - name: onecall\n"
        ),
        "{file}"
    );
    succeeds(&home, &["uninstall", "--project", "--yes", "claude-code", "vscode", "continue"]);
    assert!(!home.path("work/.mcp.json").exists());
    assert!(!home.path("work/.continue/mcpServers/onecall.yaml").exists());
    let none = onecall(&home, &["install", "--project", "--yes", "windsurf"]);
    assert_eq!(
        none.stderr,
        "error: Windsurf has no configuration files for projects; leave out --project\n"
    );
}

#[test]
fn nothing_changes_without_consent() {
    let home = home();
    let ended = succeeds(&home, &["install", "cursor", "--dry-run"]);
    assert!(ended.stdout.contains("+     \"onecall\": {"), "{}", ended.stdout);
    let ended = onecall(&home, &["install", "cursor"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "error: cannot ask you, because this is not a terminal: pass --yes to apply the change, or --dry-run to only see it\n"
    );
    assert_eq!(read(&home, CURSOR), SETTINGS);
    assert_eq!(names(&home.path("home/.cursor")), ["mcp.json"]);
}

#[test]
fn a_file_that_cannot_be_edited_stays_as_it_is() {
    let cases: [(&str, &str); 5] = [
        (
            "{\n  \"mcpServers\": {,\n}",
            "error: [home]/home/.cursor/mcp.json:2:18: not valid JSON: ",
        ),
        ("[1, 2]", "must hold servers, not a list"),
        ("{\"mcpServers\": []}", "'mcpServers' must hold servers, not a list"),
        (
            "{\"mcpServers\": {\"onecall\": {\"command\": \"x\"}}}",
            "has a server 'onecall' that is not onecall",
        ),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "'mcpServers' is given twice"),
    ];
    for (text, why) in cases {
        let home = home();
        home.write(CURSOR, text);
        let ended = onecall(&home, &["install", "cursor", "--yes"]);
        assert_eq!(ended.code, Some(2), "{}", output_text(&ended));
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert_eq!(read(&home, CURSOR), text);
        assert_eq!(names(&home.path("home/.cursor")), ["mcp.json"]);
    }
}

#[test]
fn a_link_stays_a_link_and_rights_stay() {
    let home = home();
    let target = home.write("dotfiles/mcp.json", SETTINGS);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(home.path(CURSOR)).unwrap();
    symlink(&target, home.path(CURSOR)).unwrap();
    succeeds(&home, &["install", "cursor", "--yes"]);
    assert!(home.path(CURSOR).is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("onecall"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    succeeds(&home, &["uninstall", "cursor", "--yes"]);
    assert!(home.path(CURSOR).is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), SETTINGS);
}

#[test]
fn a_link_to_nothing_and_a_folder_are_refused() {
    let home = home();
    fs::remove_file(home.path(CURSOR)).unwrap();
    symlink("gone.json", home.path(CURSOR)).unwrap();
    let ended = onecall(&home, &["install", "cursor", "--yes"]);
    assert_eq!(
        ended.stderr,
        "error: '[home]/home/.cursor/mcp.json' is a link to something that does not exist; repair or \
         remove the link\n"
    );
    fs::remove_file(home.path(CURSOR)).unwrap();
    fs::create_dir(home.path(CURSOR)).unwrap();
    let ended = onecall(&home, &["install", "cursor", "--yes"]);
    assert_eq!(ended.stderr, "error: '[home]/home/.cursor/mcp.json' is not a file\n");
}

#[test]
fn what_claude_code_writes_itself_is_left_to_its_program() {
    let home = home();
    home.write(CLAUDE, "{\n  \"numStartups\": 1\n}\n");
    // It adds the entry, and writes something of its own.
    let program = home.write(
        "bin/claude",
        format!(
            "#!/bin/sh\necho \"$@\" >> {0}/calls\ncase $2 in\n\
             add-json) printf '{{\"numStartups\": 2, \"mcpServers\": {{\"onecall\": %s}}}}' \"$6\" ;;\n\
             remove) printf '{{\"numStartups\": 3, \"mcpServers\": {{}}}}' ;;\nesac > {0}/.claude.json\n",
            home.text_path("home")
        ),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = home.onecall(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", home.text_path("bin")));
        let ended = finish(command);
        assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    };
    run(&["install", "claude-code", "--yes"]);
    assert_eq!(entry(&home, CLAUDE)["command"], bins::onecall().display().to_string());
    run(&["uninstall", "claude-code", "--yes"]);
    assert_eq!(read(&home, CLAUDE), "{\"numStartups\": 3, \"mcpServers\": {}}");
    let calls = read(&home, "home/calls");
    let calls: Vec<_> = calls.lines().map(|line| line.split(" {").next().unwrap()).collect();
    assert_eq!(calls, ["mcp add-json --scope user onecall", "mcp remove --scope user onecall"]);
}

#[test]
fn a_program_that_fails_does_not_matter() {
    let home = home();
    home.write(CLAUDE, "{}");
    let program = home.write("bin/claude", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.onecall(&["install", "claude-code", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.text_path("bin")));
    assert_eq!(finish(command).code, Some(0));
    assert_eq!(entry(&home, CLAUDE)["args"][0], "serve");
}

#[test]
fn what_is_written_meanwhile_stays() {
    let home = home();
    home.write(CLAUDE, "{}");
    // It fails, but not without a trace.
    let program = home.write(
        "bin/claude",
        format!("#!/bin/sh\necho '{{\"numStartups\": 9}}' > {}\nexit 1\n", home.text_path(CLAUDE)),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.onecall(&["install", "claude-code", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.text_path("bin")));
    let ended = finish(command);
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    let document: Value = serde_json::from_str(&read(&home, CLAUDE)).unwrap();
    assert_eq!(document["numStartups"], 9);
    assert_eq!(document["mcpServers"]["onecall"]["args"][0], "serve");
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let home = home();
    fs::set_permissions(home.path(CURSOR), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(home.path(CURSOR)).is_ok() {
        // The superuser may read everything.
        return;
    }
    let why = "cannot read '[home]/home/.cursor/mcp.json': Permission denied (os error 13)\n";
    let ended = onecall(&home, &["install", "cursor", "--yes"]);
    assert_eq!((ended.code, ended.stderr), (Some(2), format!("error: {why}")));
    let ended = onecall(&home, &["init", "--yes", "--client", "cursor"]);
    assert!(ended.stderr.contains(&format!("warning: {why}")), "{}", ended.stderr);
}

#[test]
fn a_file_that_may_not_be_written_stays() {
    let home = home();
    fs::set_permissions(home.path(CURSOR), fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(home.path(CURSOR)).is_ok() {
        return;
    }
    let ended = onecall(&home, &["install", "cursor", "--yes"]);
    assert_eq!(ended.code, Some(2), "{}", output_text(&ended));
    assert_eq!(read(&home, CURSOR), SETTINGS);
}

#[test]
fn without_a_configuration() {
    let home = Home::new();
    let ended = onecall(&home, &["install", "cursor", "--replace", "--yes"]);
    assert_eq!(
        ended.stderr,
        "error: there is no configuration yet, so --replace has no servers: run `onecall init`\n"
    );
    succeeds(&home, &["install", "cursor", "--yes"]);
    assert_eq!(entry(&home, CURSOR)["args"], json!(["serve"]));
}

#[test]
fn a_shell_finds_it_by_name() {
    let home = home();
    fs::create_dir(home.path("bin")).unwrap();
    symlink(bins::onecall(), home.path("bin/onecall")).unwrap();
    let mut command = home.onecall(&["install", "gemini", "cursor", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.text_path("bin")));
    assert_eq!(finish(command).code, Some(0));
    assert_eq!(entry(&home, "home/.gemini/settings.json")["command"], "onecall");
    // An editor may not.
    assert!(read(&home, CURSOR).contains(&*bins::onecall().to_string_lossy()));
}
