//! Values that are kept for the references in configurations.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;

use crate::support::{self, CommandResult, Gateway, Home, finish, fixture};

const SECRETS: &str = "home/state/onecall/secrets.json";
const VALUE: &str = "swordfish-4711";

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

fn set(home: &Home, name: &str, value: &str) {
    let ended = with_input(home.onecall(&["secrets", "set", name]), value.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

fn stored_secrets(home: &Home) -> Value {
    serde_json::from_slice(&std::fs::read(home.path(SECRETS)).unwrap()).unwrap()
}

fn stable_output(home: &Home, ended: &CommandResult) -> String {
    let text = format!("{:?}\n{}{}", ended.code, ended.stdout, ended.stderr);
    assert!(!text.contains(VALUE), "{text}");
    text.replace(&home.text_path(""), "[home]/")
}

/// A server whose variables are `env`.
fn server(env: &Value) -> Value {
    let mut entry = fixture("fixture", &[]);
    entry["env"] = env.clone();
    entry
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn secrets_are_set_listed_and_removed() {
    let home = Home::new();
    let token = format!("{VALUE}\n");
    let commands: [(&[&str], &str); 9] = [
        (&["list"], ""),
        (&["set", "TOKEN"], &token),
        (&["set", "OTHER"], "line one\r\nline two\n\n"),
        (&["set", "TOKEN"], &token),
        (&["list"], ""),
        (&["list", "--json"], ""),
        (&["remove", "OTHER", "ABSENT"], ""),
        (&["remove", "TOKEN", "OTHER"], ""),
        (&["list", "--json"], ""),
    ];
    let mut screen = String::new();
    for (index, (arguments, input)) in commands.into_iter().enumerate() {
        let mut command = home.onecall(&["secrets"]);
        command.args(arguments).env("OTHER", "from the environment");
        let ended = with_input(command, input.as_bytes());
        _ = writeln!(screen, "$ onecall secrets {}", arguments.join(" "));
        screen += &stable_output(&home, &ended);
        if index == 6 {
            assert_eq!(
                stored_secrets(&home),
                json!({ "TOKEN": VALUE, "OTHER": "line one\r\nline two\n" })
            );
            assert_eq!(mode(&home.path(SECRETS)), 0o600);
            assert_eq!(mode(home.path(SECRETS).parent().unwrap()), 0o700);
        }
    }
    insta::assert_snapshot!(screen);
    assert!(!home.path(SECRETS).exists());
}

#[test]
fn what_cannot_be_a_secret_is_refused() {
    let home = Home::new();
    set(&home, "TOKEN", "as it was");
    let long = "x".repeat(64 * 1024 + 1);
    let rows: [(&[&str], &[u8]); 9] = [
        (&["TOKEN=swordfish-4711"], b""),
        (&["1TOKEN"], b"x"),
        (&["MY-TOKEN"], b"x"),
        (&[""], b"x"),
        (&["TOKEN", VALUE], b""),
        (&["TOKEN"], b"\n"),
        (&["TOKEN"], b"a\0b"),
        (&["TOKEN"], b"\xff\xfe"),
        (&["TOKEN"], long.as_bytes()),
    ];
    let mut screen = String::new();
    for (arguments, input) in rows {
        let mut command = home.onecall(&["secrets", "set"]);
        command.args(arguments);
        screen += &stable_output(&home, &with_input(command, input));
    }
    insta::assert_snapshot!(screen);
    assert_eq!(stored_secrets(&home), json!({ "TOKEN": "as it was" }));
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let home = Home::new();
    let names: Vec<String> = (0..12).map(|number| format!("TOKEN_{number}")).collect();
    std::thread::scope(|scope| {
        names.iter().for_each(|name| _ = scope.spawn(|| set(&home, name, name)));
    });
    let expected: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!(name))).collect();
    assert_eq!(stored_secrets(&home), Value::Object(expected));
}

#[test]
fn a_server_gets_the_secrets_that_its_entry_refers_to() {
    let mut entry = server(&json!({
        "TOKEN": "${TOKEN}", "BEARER": "Bearer ${TOKEN}", "WITH_DEFAULT": "${TOKEN:-none}",
        "SET_OUTSIDE": "${OUTSIDE}",
    }));
    entry["env_inherit"] = json!(["UNNAMED"]);
    entry["cwd"] = json!("~/project");
    let home = Home::with_config(&json!({ "servers": [entry] }));
    std::fs::create_dir_all(home.path("home/project")).unwrap();
    let secrets = [("TOKEN", VALUE), ("OUTSIDE", "kept"), ("UNNAMED", "kept"), ("HOME", "/kept")];
    for (name, value) in secrets {
        set(&home, name, value);
    }
    home.write(
        "program.py",
        "for name in ['TOKEN', 'BEARER', 'WITH_DEFAULT', 'SET_OUTSIDE', 'UNNAMED', 'HOME']:\n    \
         print(name, await mcp__fixture__env(name=name))\n",
    );
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    command.env("OUTSIDE", "from the environment");
    let ended = finish(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = format!(
        "TOKEN {VALUE}\nBEARER Bearer {VALUE}\nWITH_DEFAULT {VALUE}\nSET_OUTSIDE from the \
         environment\nUNNAMED None\nHOME {}\n",
        home.text_path("home")
    );
    assert_eq!(ended.stdout, expected);
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    let servers = [server(&json!({ "TOKEN": "${TOKEN:-default}" }))];
    let home = Home::with_config(&json!({ "servers": servers }));
    set(&home, "TOKEN", VALUE);
    let program = "print(await mcp__fixture__env(name='TOKEN'))";
    assert_eq!(home.run(program).stdout, format!("{VALUE}\n"));
    let file = home.path(SECRETS);
    for mode in [0o640, 0o604, 0o644] {
        set_mode(&file, mode);
        let ended = home.run(program);
        assert_eq!(ended.stdout, "default\n", "{mode:o}");
        assert!(ended.stderr.contains("other users can read it"), "{}", ended.stderr);
    }
    insta::assert_snapshot!(stable_output(&home, &finish(home.onecall(&["secrets", "list"]))));
    let ended = with_input(home.onecall(&["secrets", "set", "NEW"]), b"x");
    assert_eq!((ended.code, mode(&file)), (Some(2), 0o644), "{}", ended.stderr);
    let doctor = finish(home.onecall_with_config(&["doctor"]));
    assert!(doctor.stdout.contains("other users can read it"), "{}", doctor.stdout);
    set_mode(&file, 0o600);
    assert_eq!(home.run(program).stdout, format!("{VALUE}\n"));
    home.write(SECRETS, "{ damaged");
    let ended = home.run(program);
    assert_eq!(ended.stdout, "default\n");
    assert!(ended.stderr.contains("is damaged"), "{}", ended.stderr);
}

#[test]
fn a_gateway_follows_a_change() {
    let servers = [server(&json!({ "TOKEN": "${TOKEN:-none yet}" }))];
    let home = Home::with_config(&json!({ "servers": servers }));
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    let program = "print(await mcp__fixture__env(name='TOKEN'))";
    assert_eq!(gateway.prints(program), "none yet\n");
    set(&gateway.home, "TOKEN", VALUE);
    gateway.wait_for_log(&["INFO", "restarted: fixture"]);
    assert_eq!(gateway.prints(program), format!("{VALUE}\n"));
}

#[test]
fn records_do_not_show_secrets() {
    // Arguments are shown as they are, unless they are secrets.
    let server = fixture("fixture", &["--name", "named-${TOKEN}"]);
    let home = Home::with_config(&json!({ "servers": [server], "records": "full" }));
    set(&home, "TOKEN", VALUE);
    let ended = home.run("print((await mcp__fixture__args())['argv'][-1])");
    assert_eq!(ended.stdout, format!("named-{VALUE}\n"));
    let runs = finish(home.onecall_with_config(&["runs", "--json"]));
    let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
    let id = runs[0]["id"].as_str().unwrap();
    let run = finish(home.onecall_with_config(&["runs", "show", id, "--json"]));
    assert!(run.stdout.contains("named-[redacted]"), "{}", run.stdout);
    for path in home.state_files() {
        let bytes = std::fs::read(&path).unwrap_or_default();
        let has_it = bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes());
        assert_eq!(has_it, path == home.path(SECRETS), "{}", path.display());
    }
}

/// A user of Claude Code whose servers have two different secrets of one name.
fn client() -> Home {
    let home = Home::new();
    let entry =
        |token: &str| json!({ "command": bins::fixture_server(), "env": { "API_TOKEN": token } });
    let servers = json!({ "tickets": entry(VALUE), "sales": entry("swordfish-0815") });
    home.write("home/.claude.json", json!({ "mcpServers": servers }).to_string());
    home
}

/// What the servers of a client say of their secrets, when onecall is started as the client
/// would start it.
fn secrets_of_servers(home: &Home) -> String {
    let installed = finish(home.onecall(&["install", "--yes", "claude-code"]));
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    assert!(!installed.stderr.contains("variables set"), "{}", installed.stderr);
    let text = std::fs::read_to_string(home.path("home/.claude.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let args = settings["mcpServers"]["onecall"]["args"].as_array().unwrap();
    let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    let mut session = Session::open(home.onecall(&args));
    let code = "print(await mcp__tickets__env(name='API_TOKEN'))\n\
                print(await mcp__sales__env(name='API_TOKEN'))";
    let answer = session.call_tool("execute_program", json!({ "code": code }));
    support::printed(&answer)
}

#[test]
fn init_keeps_secrets_on_request() {
    let home = client();
    let mut init = home.onecall(&["init", "--yes", "--keep-secrets"]);
    // The variable would hide a secret of this name.
    init.env("API_TOKEN", "something else");
    let ended = finish(init);
    assert_eq!(ended.code, Some(0), "{}", stable_output(&home, &ended));
    let expected = json!({ "TICKETS_API_TOKEN": VALUE, "SALES_API_TOKEN": "swordfish-0815" });
    assert_eq!(stored_secrets(&home), expected);
    let config = std::fs::read_to_string(home.path("home/config/onecall/config.yaml")).unwrap();
    assert!(!config.contains("swordfish"), "{config}");
    assert_eq!(secrets_of_servers(&home), format!("{VALUE}\nswordfish-0815\n"));
}

#[test]
fn init_says_which_secrets_it_left_out() {
    let home = client();
    let ended = finish(home.onecall(&["init", "--yes"]));
    let screen = stable_output(&home, &ended);
    // The width of the table depends on where the server is.
    let (_, after) = screen.split_once("\nsales ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    insta::assert_snapshot!(after);
    assert!(!home.path(SECRETS).exists());
    let install = || finish(home.onecall(&["install", "--yes", "claude-code"]));
    let named = "with these variables set: API_TOKEN, SALES_API_TOKEN.";
    let installed = install();
    assert!(installed.stderr.contains(named), "{}", installed.stderr);
    assert_eq!(finish(home.onecall(&["uninstall", "--yes", "claude-code"])).code, Some(0));
    // The commands that the message advises.
    set(&home, "API_TOKEN", VALUE);
    set(&home, "SALES_API_TOKEN", "swordfish-0815");
    assert_eq!(secrets_of_servers(&home), format!("{VALUE}\nswordfish-0815\n"));
}

/// Starts its arguments on a terminal of their own, answers the questions in `ANSWERS` when
/// they are asked, and prints everything that the terminal shows.
const TERMINAL: &str = r#"
import json, os, pty, sys, termios, time
answers = json.loads(os.environ.pop("ANSWERS"))
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if answers and answers[0][0].encode() in shown:
        # What is typed before the echo is off is thrown away.
        while "not shown" in answers[0][0] and termios.tcgetattr(terminal)[3] & termios.ECHO:
            time.sleep(0.01)
        os.write(terminal, answers.pop(0)[1].encode())
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// Runs a command on a terminal; each question is answered once it is there.
fn on_terminal(command: &Command, answers: &[(&str, &str)]) -> CommandResult {
    let mut python = Command::new("python3");
    python.args(["-c", TERMINAL]).arg(command.get_program()).args(command.get_args());
    let set = |(name, value): (_, Option<_>)| Some((name, value?));
    python.env_clear().envs(command.get_envs().filter_map(set));
    python.env("ANSWERS", json!(answers).to_string()).env("TERM", "xterm");
    finish({
        python.current_dir(command.get_current_dir().unwrap());
        python
    })
}

#[test]
fn a_value_is_typed_unseen() {
    let home = Home::new();
    let set = home.onecall(&["secrets", "set", "TOKEN"]);
    let ended = on_terminal(&set, &[("not shown", "swordfish-4711\n")]);
    let file = home.text_path(SECRETS);
    let expected = format!(
        "Value of TOKEN (not shown): \r\nStored TOKEN in {file}; configurations refer to it as ${{TOKEN}}\r\n"
    );
    assert_eq!((ended.code, ended.stdout), (Some(0), expected));
    assert_eq!(stored_secrets(&home), json!({ "TOKEN": VALUE }));
}

#[test]
fn the_default_answers_of_init_lead_to_servers_that_work() {
    let home = client();
    let answers = [("confirms)", "\r"), ("[Y/n]", "\n")];
    let ended = on_terminal(&home.onecall(&["init"]), &answers);
    assert_eq!(ended.code, Some(0), "{}", stable_output(&home, &ended));
    assert_eq!(
        stored_secrets(&home),
        json!({ "API_TOKEN": VALUE, "SALES_API_TOKEN": "swordfish-0815" })
    );
    assert_eq!(secrets_of_servers(&home), format!("{VALUE}\nswordfish-0815\n"));
}

#[test]
fn init_keeps_no_secret_of_a_user_who_refuses() {
    let home = client();
    let answers = [("confirms)", "\r"), ("[Y/n]", "n\n")];
    let ended = on_terminal(&home.onecall(&["init", "--no-check"]), &answers);
    assert_eq!(ended.code, Some(0), "{}", stable_output(&home, &ended));
    assert!(ended.stdout.contains("onecall secrets set SALES_API_TOKEN"), "{}", ended.stdout);
    assert!(!home.path(SECRETS).exists());
}
