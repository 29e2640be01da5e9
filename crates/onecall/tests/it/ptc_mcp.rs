//! Configurations of ptc-mcp start here as they are, through every command that reads one.

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;

use crate::support::{CommandResult, Gateway, Home, TIMEOUT, finish};

/// A configuration as a user of ptc-mcp may have written it, with one entry that cannot be used.
fn configuration(sse: &HttpFixture) -> String {
    let (server, sse) = (bins::fixture_server().display().to_string(), sse.url("/sse"));
    format!(
        r#"# The servers of our team.
defaults: &defaults
  transport: stdio
  command: {server}
  env: &env
    PASSWORD: "pa$$word"
    PRICE: "$5 or ${{"
    REFERENCE: "${{NO_SUCH_VARIABLE}}"

servers:
  - name: inner-apis
    <<: *defaults
    url: null
    description: everything inside
  - name: figures
    transport: stdio
    command: {server}
    env: *env
    args:
  - name: events
    transport: sse
    command: null
    args: []
    url: "{sse}"
  - name: socket
    transport: websocket
    url: "ws://localhost:9/"

tools:
  allow: []
  block:
    - "mcp__inner-apis__add"
    - "mcp__figures__no-such-tool"

execution:
  timeout_seconds: 120
  max_output_bytes: 65_536
"#
    )
}

/// A home with that configuration in the working directory, where it is trusted.
fn home(sse: &HttpFixture) -> Home {
    let home = Home::new();
    home.write("work/config.yaml", configuration(sse));
    trust(&home);
    home
}

fn trust(home: &Home) {
    let trusted = finish(home.onecall(&["trust", "config.yaml", "--log", "off"]));
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
}

/// What a command says, without what differs from one run to the next.
fn stable_output(home: &Home, sse: &HttpFixture, ended: &CommandResult) -> String {
    let fixture = bins::fixture_server().display().to_string();
    let line = |line: &str| {
        let line = line.split_once("  WARN ").map_or(line, |(_, warning)| warning);
        let line = line.split_once("ready in ").map_or(line.to_owned(), |(before, after)| {
            let after = after.split_once(" ms").map_or(after, |(_, after)| after);
            format!("{before}ready in [time]{after}")
        });
        line.replace(&home.text_path("work"), "[work]")
            .replace(sse.address(), "[address]")
            .replace(&fixture, "[fixture]")
            + "\n"
    };
    let (stdout, stderr): (String, String) =
        (ended.stdout.lines().map(line).collect(), ended.stderr.lines().map(line).collect());
    format!("exit code {:?}\n{stdout}---\n{stderr}", ended.code)
}

/// A gateway in that home.
fn gateway(home: Home) -> Gateway {
    Gateway { session: Session::open(home.onecall(&["serve", "--log", "warn"])), home }
}

const PROGRAM: &str = r"
print(await mcp__inner_apis__env(name='PASSWORD'), await mcp__figures__env(name='PRICE'))
print(await mcp__figures__env(name='REFERENCE'))
print(await mcp__figures__add(a=1, b=2), await mcp__events__add(a=3, b=4))
try:
    await mcp__inner_apis__add(a=1, b=2)
except ToolError as error:
    print(error)
";

const PRINTED: &str = "pa$$word $5 or ${\n${NO_SUCH_VARIABLE}\n3 7\n\
                       'mcp__inner_apis__add' is not available in execute_program\n";

#[test]
fn check_says_how_it_is_read_and_what_was_overlooked() {
    let sse = HttpFixture::start(&["--face", "legacy"]);
    let home = home(&sse);
    insta::assert_snapshot!(stable_output(&home, &sse, &finish(home.onecall(&["check"]))));
}

#[test]
fn names_that_block_nothing_are_shown() {
    let sse = HttpFixture::start(&["--face", "legacy"]);
    let home = Home::new();
    let text = configuration(&sse).replace("transport: websocket", "disabled: true");
    home.write("work/config.yaml", text);
    trust(&home);
    let note = "'mcp__figures__no_such_tool' of 'block' in tools blocks nothing: no tool has a name like that";
    let checked = finish(home.onecall(&["check", "--log", "off"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.stdout.ends_with(&format!("note: {note}\n")), "{checked:?}");
    let doctor = finish(home.onecall(&["doctor", "--log", "off"]));
    assert!(doctor.stdout.contains(note), "{doctor:?}");
}

#[test]
fn programs_run_as_they_did() {
    let sse = HttpFixture::start(&["--face", "legacy"]);
    let mut served = gateway(home(&sse));
    assert_eq!(served.prints(PROGRAM), PRINTED);
    let text = configuration(&sse);
    let names = served.callable_tools();
    let of = |server: &str| names.iter().filter(|name| name.starts_with(server)).count();
    let counts = ["mcp__inner_apis__", "mcp__figures__", "mcp__events__", "mcp__socket__"].map(of);
    assert_eq!(counts, [34, 35, 35, 0]);

    // By the variable, the file may have any name and needs no trust.
    let home = Home::new();
    let file = home.write("servers.yml", text);
    home.write("program.py", PROGRAM);
    let program = home.text_path("program.py");
    let mut command = home.onecall(&["run", &program, "--log", "off"]);
    command.env("PTC_MCP_CONFIG", &file);
    let ended = finish(command);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), PRINTED), "{ended:?}");
    // Named in another way, it is one of onecall's own, and strict.
    let file = file.display().to_string();
    let ended = finish(home.onecall(&["run", &program, "--config", &file]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("uses an alias (*name)"), "{ended:?}");
    let advice = "if this is a configuration of ptc-mcp, name it with PTC_MCP_CONFIG in the place of --config\n";
    assert!(ended.stderr.ends_with(advice), "{ended:?}");
}

#[test]
fn it_is_not_read_before_it_is_trusted() {
    let sse = HttpFixture::start(&["--face", "legacy"]);
    let home = Home::new();
    home.write("work/config.yaml", configuration(&sse));
    let ended = finish(home.onecall(&["check"]));
    assert_eq!(
        ended.stdout,
        "No configuration file found, so there are no servers: run `onecall init`\n"
    );
    assert!(ended.stderr.contains("is not read: it is not trusted"), "{ended:?}");
}

#[test]
fn it_is_followed_while_it_is_served() {
    let home = Home::new();
    let server = bins::fixture_server().display().to_string();
    let file = home.path("config.yaml");
    let text = |policy: &str| {
        format!("servers:\n  - {{name: a, command: {server}, note: x}}\ntools: {policy}\n")
    };
    let write = |text: &str| {
        let new = home.write("config.yaml.new", text);
        std::fs::rename(new, home.path("config.yaml")).unwrap();
    };
    write(&text("{allow: []}"));
    let mut command = home.onecall(&["serve", "--log", "info"]);
    command.env("PTC_MCP_CONFIG", &file);
    let session = Session::open(command);
    let other = Home::new();
    let mut gateway = Gateway { session, home: other };
    assert_eq!(gateway.callable_tools().len(), 35);

    write(&text("{block: [mcp__a__add]}"));
    assert!(wait_until(TIMEOUT, || gateway.callable_tools().len() == 34));
    // With a key of onecall's own, the file is read strictly and has a mistake: the previous
    // configuration stays in use.
    write(&format!("{}cache: {{}}\n", text("{allow: []}")));
    gateway.wait_for_log(&["ERROR", "unknown key 'note' in server 'a'"]);
    assert_eq!(gateway.callable_tools().len(), 34);
    // Without the mistake, an empty list allows nothing.
    write(&format!("{}cache: {{}}\n", text("{allow: []}").replace(", note: x", "")));
    assert!(wait_until(TIMEOUT, || gateway.callable_tools().is_empty()));
}

#[test]
fn commands_that_change_the_configuration_keep_its_format() {
    let home = Home::new();
    let server = bins::fixture_server().display().to_string();
    let text =
        format!("servers:\n  - name: a\n    command: {server}\n    note: x\ntools:\n  allow: []\n");
    let file = home.write("work/config.yaml", &text);
    trust(&home);
    let run = |arguments: &[&str]| finish(home.onecall(arguments));
    let added = run(&["add", "b", "--log", "off", "--", &server]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let listed = run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let names: Vec<&Value> =
        listed["servers"].as_array().unwrap().iter().map(|server| &server["name"]).collect();
    assert_eq!(names, [&json!("a"), &json!("b")]);
    let tools = run(&["tools", "--log", "off"]);
    assert_eq!(tools.stdout.lines().count(), 70, "{tools:?}");
    let removed = run(&["remove", "b"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    // A server with a key that only onecall has would make the whole file strict.
    let client = json!({ "mcpServers": { "c": { "command": "other", "startup_timeout_sec": 5 } } });
    home.write("client.json", client.to_string());
    let client = home.text_path("client.json");
    let imported = run(&["import", &client, "--client", "claude-code", "--yes", "--no-check"]);
    assert_eq!(imported.code, Some(2), "{imported:?}");
    assert!(
        imported.stderr.contains("is a configuration of ptc-mcp, and this change"),
        "{imported:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    let aliased = "x: &x {command: y}\nservers: [{name: a, <<: *x}]\n";
    home.write("work/config.yaml", aliased);
    trust(&home);
    let listed = run(&["list"]);
    assert_eq!(listed.stdout, "SERVER  TRANSPORT  HOW\na       stdio      y\n");
    let refused = run(&["add", "b", "--no-check", "--", "z"]);
    assert!(refused.stderr.contains("uses an alias (*name)"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), aliased);
}

#[test]
fn clients_are_told_of_it_by_its_variable() {
    let home = Home::new();
    let file = home.write("work/config.yaml", "servers: [{name: a, command: x, note: y}]\n");
    trust(&home);
    let ended = finish(home.onecall(&["install", "claude-code", "--project", "--yes"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(home.path("work/.mcp.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let entry = &written["mcpServers"]["onecall"];
    assert_eq!(entry["args"], json!(["serve"]));
    assert_eq!(entry["env"], json!({ "PTC_MCP_CONFIG": file.display().to_string() }));
    let again = finish(home.onecall(&["install", "claude-code", "--project", "--yes"]));
    assert!(again.stderr.contains("onecall is already installed"), "{again:?}");
}
