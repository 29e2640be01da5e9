//! The first path of a new user on a terminal: from the files of nine MCP clients, full of
//! published servers of which some cannot work, to a program in Claude Code and in the Inspector,
//! and back to the files as they were. Every screen is stored in `snapshots`;
//! `INSTA_UPDATE=always` stores them anew.

mod model;
mod package;
mod screens;
mod test_user;

use model::{FakeModel, TOOL};
use screens::{sections, stable_screen};
use serde_json::{Value, json};
use test_user::{CLAUDE_CODE, TestUser};

use crate::support::finish;
use crate::support::screen::Screen;
use crate::support::terminal::Terminal;

/// How many servers the nine files name. `npx` has to install `thinking`, `search` refers to a
/// variable that is not set, `stuck` never answers, and `tickets` is a folder.
const SERVERS: usize = 9;

/// Clients other than Claude Code.
const EDITORS: [&str; 8] =
    ["claude-desktop", "cursor", "vscode", "windsurf", "codex", "gemini", "zed", "continue"];

/// A program over two of the servers, and what it prints.
const PROGRAM: &str = "\
note = await mcp__filesystem__read_text_file(path='[home]/work/today.txt')
total = await mcp__everything__get_sum(a=20, b=22)
print(note['content'].strip(), '|', total)
";
const PRINTED: &str = "buy milk | The sum of 20 and 22 is 42.\n";

#[test]
fn from_nine_client_files_to_a_program_and_back() {
    let Some(user) = TestUser::new() else { return };
    let program = PROGRAM.replace("[home]", &user.home_path());
    user.write("work/first.py", &program);

    take_over_servers(&user);
    assert_screen(&user, "check", &["check"], 1);
    assert_screen(&user, "list", &["list"], 0);
    assert_screen(&user, "tools", &["tools"], 0);
    assert_screen(&user, "call", &["call", "get_sum", "a=20", "b=22"], 0);
    assert_screen(&user, "call_of_a_broken_server", &["call", "mcp__tickets__open"], 1);
    assert_screen(&user, "run", &["run", "first.py"], 0);

    install(&user);
    check_claude_code(&user, &program);
    check_inspector(&user, &program);
    set_missing_secret(&user);
    let mut doctor = user.run_on_terminal(&["doctor"]);
    assert_eq!(doctor.wait(), Some(1));
    let screen = screen_of(&user, &doctor);
    insta::assert_snapshot!("doctor", sections(&screen, &["configuration", "servers", "clients"]));
    uninstall(&user);
}

/// `onecall init` with the answers that Enter gives.
fn take_over_servers(user: &TestUser) {
    let mut terminal = user.run_on_terminal(&["init"]);
    terminal.wait_for_screen(|screen| screen.count("[x]") == SERVERS);
    terminal.wait_for_key_reading();
    terminal.type_keys("\r");
    terminal.wait_for_screen(|screen| screen.ends_with("[Y/n]"));
    insta::assert_snapshot!("init_asks", screen_of(user, &terminal));
    terminal.type_keys("\r");
    terminal.wait_for_screen(|screen| waits_only_for(screen, "thinking"));
    insta::assert_snapshot!("init_installs", screen_of(user, &terminal));
    user.package.release();
    assert_eq!(terminal.wait(), Some(1));
    insta::assert_snapshot!("init_ends", screen_of(user, &terminal));
}

/// Whether the line of progress names this server last, and none of the others before it.
fn waits_only_for(screen: &Screen, server: &str) -> bool {
    let line = screen.current_line();
    let others = ["everything", "filesystem", "docs", "memory", "stuck", "tickets", "time"];
    line.ends_with(server) && !others.iter().any(|other| line.contains(&format!("{other},")))
}

/// Does what `init` and `check` advise about the variable that is not set.
fn set_missing_secret(user: &TestUser) {
    // What is typed before the terminal hides it is thrown away, so it comes from a pipe.
    let mut terminal = user.run_line_on_terminal("echo key | onecall secrets set SEARCH_KEY");
    assert_eq!(terminal.wait(), Some(0));
    insta::assert_snapshot!("secrets_set", screen_of(user, &terminal));
    assert_screen(user, "call_with_the_secret", &["call", "mcp__search__echo", "message=found"], 0);
}

/// Installs onecall in Claude Code beside its servers, and in the others instead of them.
fn install(user: &TestUser) {
    let mut terminal = user.run_on_terminal(&["install", "claude-code"]);
    terminal.wait_for_screen(|screen| screen.ends_with("[y/N]"));
    terminal.type_keys("y\r");
    assert_eq!(terminal.wait(), Some(0));
    insta::assert_snapshot!("install", screen_of(user, &terminal));
    let arguments = [&["install", "--replace", "--yes"], EDITORS.as_slice()].concat();
    assert_screen(user, "install_editors", &arguments, 0);
}

/// Claude Code connects to what was installed, and executes a program with it.
fn check_claude_code(user: &TestUser, program: &str) {
    let listed = finish(user.claude_code(&["mcp", "list"]));
    let is_connected = |line: &str| line.starts_with("onecall: ") && line.ends_with("Connected");
    assert!(listed.stdout.lines().any(is_connected), "{listed:?}");

    let model = FakeModel::start(program);
    let mut command = user.claude_code(&["--print", "Run it.", "--allowedTools", TOOL]);
    command.env("ANTHROPIC_BASE_URL", &model.address).env("ANTHROPIC_API_KEY", "none");
    // Its first question to the model waits until its servers are connected.
    command.env("MCP_CONNECTION_NONBLOCKING", "0");
    let ended = finish(command);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "done\n"), "{}", ended.stderr);
    assert_eq!(model.result(), format!("[Script executed successfully]\n{PRINTED}"));
}

/// The Inspector executes a program with the entry in Cursor's file.
fn check_inspector(user: &TestUser, program: &str) {
    let arguments = json!({ "code": program }).to_string();
    let call = ["--method", "tools/call", "--tool-name", "execute_program", "--tool-args-json"];
    let ended = finish(user.inspector(&[call.as_slice(), &[&arguments]].concat()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let answer: Value = serde_json::from_str(&ended.stdout).expect("the Inspector prints JSON");
    let text = format!("[Script executed successfully]\n{PRINTED}");
    assert_eq!(answer["result"]["content"], json!([{ "type": "text", "text": text }]));
}

/// Takes onecall out of all clients: their files are what they were.
fn uninstall(user: &TestUser) {
    let mut terminal = user.run_on_terminal(&["uninstall", "--yes", "claude-code"]);
    assert_eq!(terminal.wait(), Some(0));
    let screen = screen_of(user, &terminal);
    // What is around the change is what Claude Code has written.
    let lines: Vec<&str> = screen.lines().filter(|line| !line.starts_with("  ")).collect();
    insta::assert_snapshot!("uninstall", lines.join("\n"));
    let arguments = [&["uninstall", "--yes"], EDITORS.as_slice()].concat();
    assert_screen(user, "uninstall_editors", &arguments, 0);
    // Claude Code has written its own file meanwhile, but not its servers.
    assert_eq!(user.changed_files(), [CLAUDE_CODE]);
    let servers = |text: &str| {
        let settings: Value = serde_json::from_str(text).expect("JSON");
        settings["mcpServers"].clone()
    };
    assert_eq!(servers(&user.read(CLAUDE_CODE)), servers(&user.original(CLAUDE_CODE)));
}

/// Runs a command to its end, and stores the screen.
fn assert_screen(user: &TestUser, name: &str, arguments: &[&str], code: i32) {
    let mut terminal = user.run_on_terminal(arguments);
    let ended = terminal.wait();
    let screen = screen_of(user, &terminal);
    assert_eq!(ended, Some(code), "{name}:\n{screen}");
    insta::assert_snapshot!(name, screen);
}

fn screen_of(user: &TestUser, terminal: &Terminal) -> String {
    stable_screen(&terminal.written(), &user.home_path())
}
