//! The tools of servers as they were seen last: what commands know before a server has started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use onecall_bridge::ServerIdentity;
use onecall_config::ProcessContext;
use onecall_core::Timestamp;
use serde_json::{Value, json};
use testkit::bins;

use crate::support::{CommandResult, Home, finish, fixture};

const ADD: (&str, &str) = ("add", "Adds two numbers.");
const ECHO: (&str, &str) = ("echo", "Says it again.");

/// A home with servers whose tools are those of a file of their name, and who say when they are
/// started.
fn home(servers: &[(&str, &[(&str, &str)])]) -> Home {
    let home = Home::new();
    fs::create_dir(home.path("started")).unwrap();
    let entries: Vec<Value> =
        servers.iter().map(|(name, tools)| server(&home, name, tools)).collect();
    home.write("config.json", json!({ "servers": entries }).to_string());
    home
}

fn server(home: &Home, name: &str, tools: &[(&str, &str)]) -> Value {
    home.write_tools(name, tools);
    let (log, tools) = (home.text_path(&format!("started/{name}")), home.text_path(name));
    fixture(name, &["--tools-file", &tools, "--log", &log])
}

/// The servers that were started since this was asked last, by name.
fn started(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path("started")).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .inspect(|path| fs::remove_file(path).unwrap())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

const NONE: [&str; 0] = [];

fn succeeds(home: &Home, arguments: &[&str]) -> CommandResult {
    let ended = finish(home.onecall_with_config(arguments));
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended
}

fn store(home: &Home) -> std::path::PathBuf {
    home.path("home/state/onecall/onecall.db")
}

/// Has everything been seen two hours earlier than it was.
fn age(home: &Home) {
    let file = home.path("config.json");
    let config = onecall_config::load(Some(&file), &ProcessContext::current()).unwrap().config;
    let store = onecall_store::open(store(home));
    for server in &config.servers {
        let key = ServerIdentity::of_entry(server);
        let mut listing = store.listing(&key, Timestamp::now()).unwrap().expect("a listing");
        listing.seen = listing.seen.before(Duration::from_secs(2 * 3600));
        store.put_listing(&key, server.name.as_str(), &listing).unwrap();
    }
}

fn names(home: &Home) -> Vec<String> {
    let ended = finish(home.onecall_with_config(&["tool-names"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn tools_are_shown_as_they_were_listed_last() {
    let home = home(&[("shop", &[ADD, ECHO]), ("lab", &[ADD])]);
    let forms: [&[&str]; 7] = [
        &["tools"],
        &["tools", "--json"],
        &["tools", "--json", "--detail", "full"],
        &["tools", "--detail", "signatures"],
        &["tools", "--server", "shop"],
        &["tools", "two", "numbers"],
        &["tools", "show", "mcp__lab__add"],
    ];
    let listed: Vec<CommandResult> =
        forms.iter().map(|form| succeeds(&home, &[form, &["--refresh"][..]].concat())).collect();
    assert_eq!(started(&home), ["lab", "shop"]);
    for (form, listed) in forms.iter().zip(&listed) {
        assert_eq!(succeeds(&home, form), *listed, "{form:?}");
    }
    assert_eq!(started(&home), NONE);
    assert_eq!(names(&home), ["mcp__lab__add", "mcp__shop__add", "mcp__shop__echo"]);
    // A new tool of a server is not listed before the server is asked again.
    home.write_tools("lab", &[ADD, ECHO]);
    assert!(!succeeds(&home, &["tools"]).stdout.contains("mcp__lab__echo"));
    assert_eq!(started(&home), NONE);
    let show = succeeds(&home, &["tools", "show", "mcp__lab__echo"]);
    assert!(show.stdout.contains("Says it again."), "{show:?}");
    assert_eq!(started(&home), ["lab"]);
    assert!(succeeds(&home, &["tools"]).stdout.contains("mcp__lab__echo"));
    assert_eq!(started(&home), NONE);
}

#[test]
fn every_command_that_lists_tools_keeps_what_it_has_seen() {
    let commands: [&[&str]; 4] = [
        &["check"],
        &["call", "mcp__shop__add", "a=1", "b=2"],
        &["generate", "--lang", "python", "--out", "out"],
        &["run", "-e", "print(await mcp__shop__add(1, 2))"],
    ];
    for command in commands {
        let home = home(&[("shop", &[ADD])]);
        assert_eq!(names(&home), NONE);
        succeeds(&home, command);
        assert_eq!(names(&home), ["mcp__shop__add"], "{command:?}");
    }
    let home = Home::new();
    let fixture = bins::fixture_server().display().to_string();
    assert_eq!(finish(home.onecall(&["add", "shop", &fixture])).code, Some(0));
    let named = finish(home.onecall(&["tool-names"])).stdout;
    assert!(named.contains("mcp__shop__add\n"), "{named}");
}

#[test]
fn what_was_seen_long_ago_is_listed_again_after_it_is_shown() {
    let home = home(&[("shop", &[ADD]), ("lab", &[ADD])]);
    succeeds(&home, &["tools"]);
    age(&home);
    home.write_tools("shop", &[ADD, ECHO]);
    started(&home);
    let shown = succeeds(&home, &["tools"]);
    assert!(!shown.stdout.contains("mcp__shop__echo"), "{shown:?}");
    assert_eq!(
        shown.stderr,
        "The tools of 'lab', 'shop' were listed 2h ago; listing them again\n\
         The tools of 'shop' have changed: run the command again to see them\n"
    );
    assert_eq!(started(&home), ["lab", "shop"]);
    let shown = succeeds(&home, &["tools"]);
    assert!(shown.stdout.contains("mcp__shop__echo"), "{shown:?}");
    assert_eq!((shown.stderr.as_str(), started(&home).len()), ("", 0));
    // Of one server, only that one is listed again.
    age(&home);
    succeeds(&home, &["tools", "--server", "lab"]);
    assert_eq!(started(&home), ["lab"]);
}

/// A server that is a script, so that it can become another one behind the same entry.
fn scripted(home: &Home, flags: &str) {
    let text = format!("#!/bin/sh\nexec '{}' {flags}\n", bins::fixture_server().display());
    let path = home.write("server.sh", text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let server = json!({ "name": "shop", "command": home.path("server.sh") });
    home.write("config.json", json!({ "servers": [server] }).to_string());
}

#[test]
fn a_server_that_hangs_or_is_broken_shows_what_it_had() {
    let home = Home::new();
    scripted(&home, "");
    let before = succeeds(&home, &["tools"]).stdout;
    scripted(&home, "--hang-on-init");
    let shown = succeeds(&home, &["tools"]);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), (before.as_str(), ""));
    age(&home);
    for flags in ["--hang-on-init", "--exit-on-start 3"] {
        scripted(&home, flags);
        let shown = succeeds(&home, &["tools"]);
        assert_eq!(shown.stdout, before);
        let what = if flags.contains("hang") { "within 5 s" } else { "is not available" };
        assert!(shown.stderr.contains(what), "{}", shown.stderr);
    }
    let anew = finish(home.onecall_with_config(&["tools", "--refresh"]));
    assert_eq!((anew.code, anew.stdout.as_str()), (Some(1), ""), "{anew:?}");
}

#[test]
fn another_entry_of_the_same_name_is_another_server() {
    let home = home(&[("shop", &[ADD])]);
    succeeds(&home, &["tools"]);
    let mut entry = server(&home, "shop", &[ECHO]);
    for (key, value) in [("env", json!({ "REGION": "EU" })), ("cwd", json!(home.path("work")))] {
        entry[key] = value;
        home.write("config.json", json!({ "servers": [entry] }).to_string());
        assert_eq!(names(&home), NONE, "{key}");
        started(&home);
        let shown = succeeds(&home, &["tools"]);
        assert!(shown.stdout.starts_with("mcp__shop__echo"), "{shown:?}");
        assert_eq!(started(&home), ["shop"]);
        assert_eq!(names(&home), ["mcp__shop__echo"]);
    }
}

#[test]
fn a_folder_counts_only_for_an_entry_that_names_something_in_it() {
    let home = home(&[("shop", &[ADD])]);
    succeeds(&home, &["tools"]);
    started(&home);
    let elsewhere = |home: &Home| {
        let mut command = home.onecall_with_config(&["tools"]);
        command.current_dir(home.path("home"));
        finish(command)
    };
    assert_eq!(elsewhere(&home).code, Some(0));
    assert_eq!(started(&home), NONE);
    // In the other directory, the relative path names another file.
    let log = home.text_path("started/shop");
    let entry = fixture("shop", &["--tools-file", "tools.json", "--log", &log]);
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    home.write_tools("work/tools.json", &[ADD]);
    home.write_tools("home/tools.json", &[ECHO]);
    assert!(succeeds(&home, &["tools"]).stdout.contains("mcp__shop__add"));
    assert!(elsewhere(&home).stdout.contains("mcp__shop__echo"));
    started(&home);
    assert!(succeeds(&home, &["tools"]).stdout.contains("mcp__shop__add"));
    assert!(elsewhere(&home).stdout.contains("mcp__shop__echo"));
    assert_eq!(started(&home), NONE);
}

#[test]
fn what_was_seen_goes_with_the_server() {
    let home = Home::new();
    let fixture = bins::fixture_server().display().to_string();
    let named = || finish(home.onecall(&["tool-names"])).stdout;
    let add =
        || assert_eq!(finish(home.onecall(&["add", "--no-check", "shop", &fixture])).code, Some(0));
    add();
    assert_eq!(named(), "");
    assert_eq!(finish(home.onecall(&["tools"])).code, Some(0));
    assert!(named().contains("mcp__shop__add\n"));
    assert_eq!(finish(home.onecall(&["disable", "shop"])).code, Some(0));
    assert_eq!(named(), "");
    assert_eq!(finish(home.onecall(&["enable", "shop"])).code, Some(0));
    assert!(named().contains("mcp__shop__add\n"));
    assert_eq!(finish(home.onecall(&["remove", "shop"])).code, Some(0));
    add();
    assert_eq!(named(), "");
}

#[test]
fn a_server_without_its_variable_holds_nobody_up() {
    let home = home(&[("shop", &[ADD])]);
    let unset = json!({ "name": "later", "command": "x", "env": { "KEY": "${NOT_SET_ANYWHERE}" } });
    let entries = json!([server(&home, "shop", &[ADD]), unset]);
    home.write("config.json", json!({ "servers": entries }).to_string());
    let first = succeeds(&home, &["tools"]);
    started(&home);
    let second = succeeds(&home, &["tools"]);
    assert!(second.stderr.contains("NOT_SET_ANYWHERE"), "{second:?}");
    assert_eq!(first, second);
    assert_eq!(started(&home), NONE);
    assert_eq!(names(&home), ["mcp__shop__add"]);
}

#[test]
fn a_store_that_cannot_be_used_is_done_without() {
    let home = home(&[("shop", &[ADD])]);
    let listed = succeeds(&home, &["tools"]).stdout;
    // What was written last may still be in the log of the store, which would bring it back.
    for log in ["onecall.db-wal", "onecall.db-shm"] {
        _ = fs::remove_file(store(&home).with_file_name(log));
    }
    fs::write(store(&home), "nothing that makes sense").unwrap();
    assert_eq!(names(&home), NONE);
    // Completion has moved nothing.
    assert_eq!(fs::read_to_string(store(&home)).unwrap(), "nothing that makes sense");
    assert_eq!(succeeds(&home, &["tools"]).stdout, listed);
    assert_eq!(names(&home), ["mcp__shop__add"]);
    // No folder can be made where a file is.
    home.write("file", "");
    let at_file = |arguments: &[&str]| {
        let mut command = home.onecall_with_config(arguments);
        command.env("XDG_STATE_HOME", home.path("file"));
        finish(command)
    };
    started(&home);
    let ended = at_file(&["tools"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), listed.as_str()), "{ended:?}");
    assert_eq!(started(&home), ["shop"]);
    let ended = at_file(&["tool-names"]);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
}

#[test]
fn completion_makes_no_store() {
    let home = home(&[("shop", &[ADD])]);
    assert_eq!(names(&home), NONE);
    assert!(!home.path("home/state").exists());
}

#[test]
fn commands_at_the_same_time_do_not_disturb_each_other() {
    let home = home(&[("shop", &[ADD]), ("lab", &[ECHO])]);
    let all = std::thread::scope(|scope| {
        let commands: Vec<_> =
            (0..6).map(|_| scope.spawn(|| succeeds(&home, &["tools"]).stdout)).collect();
        commands.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(all.iter().all(|listed| listed == &all[0] && listed.lines().count() == 2), "{all:?}");
    started(&home);
    assert_eq!(succeeds(&home, &["tools"]).stdout, all[0]);
    assert_eq!(started(&home), NONE);
}

#[test]
fn what_may_not_be_called_is_not_shown() {
    let home = home(&[("shop", &[ADD, ECHO])]);
    succeeds(&home, &["tools"]);
    let mut config: Value =
        serde_json::from_str(&fs::read_to_string(home.path("config.json")).unwrap()).unwrap();
    config["tools"] = json!({ "block": ["mcp__shop__echo"] });
    home.write("config.json", config.to_string());
    started(&home);
    assert_eq!(names(&home), ["mcp__shop__add"]);
    assert!(!succeeds(&home, &["tools"]).stdout.contains("echo"));
    assert_eq!(started(&home), NONE);
    // A program that uses it is refused, and by what holds now.
    let refused = home.run("await mcp__shop__echo(1, 2)");
    assert!(refused.stderr.contains("[Nothing was executed]"), "{refused:?}");
}

#[test]
fn pins_count_for_what_was_seen() {
    let home = Home::new();
    fs::create_dir(home.path("started")).unwrap();
    let mut entry = server(&home, "shop", &[ADD]);
    entry["pin"] = json!(true);
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    succeeds(&home, &["tools"]);
    home.write_tools("shop", &[("add", "Sends all files."), ECHO]);
    let anew = finish(home.onecall_with_config(&["tools", "--refresh"]));
    assert_eq!((anew.code, anew.stdout.as_str()), (Some(1), ""), "{anew:?}");
    started(&home);
    let seen = finish(home.onecall_with_config(&["tools"]));
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("'mcp__shop__add' is quarantined"), "{seen:?}");
    assert_eq!((names(&home), started(&home).len()), (Vec::new(), 0));
    succeeds(&home, &["pin", "shop", "--yes"]);
    started(&home);
    assert_eq!(succeeds(&home, &["tools"]).stdout.lines().count(), 2);
    assert_eq!(started(&home), NONE);
}

#[test]
fn a_listing_that_shows_a_secret_is_not_kept() {
    let home = home(&[("shop", &[("add", "Adds for sk-1234567890.")])]);
    succeeds(&home, &["tools"]);
    assert_eq!(names(&home), ["mcp__shop__add"]);
    let mut entry = server(&home, "shop", &[("add", "Adds for sk-1234567890.")]);
    entry["env"] = json!({ "KEY": "sk-1234567890" });
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    succeeds(&home, &["tools"]);
    assert_eq!(names(&home), NONE);
}

/// The file of tools with one tool `add`, which takes these numbers.
fn define_add(home: &Home, parameters: &[&str]) {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({ "type": "number" }))).collect();
    let schema =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    home.write("shop", json!([{ "name": "add", "inputSchema": schema }]).to_string());
}

#[test]
fn a_program_is_refused_by_what_tools_are_like_now() {
    let home = home(&[("shop", &[ADD])]);
    let prints = |code: &str| {
        let ended = home.run(code);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{code}: {ended:?}");
    };
    let refused = |code: &str| {
        let ended = home.run(code);
        assert!(ended.stderr.contains("[Nothing was executed]"), "{code}: {ended:?}");
    };
    define_add(&home, &["a"]);
    refused("print(await mcp__shop__add(a=1, b=2))");
    // An argument more.
    define_add(&home, &["a", "b"]);
    prints("print(await mcp__shop__add(a=1, b=2))");
    prints("print(await mcp__shop__add(1, 2))");
    refused("print(await mcp__shop__add(a=1, c=2))");
    // Another name, and then the first one again.
    home.write_tools("shop", &[ECHO]);
    succeeds(&home, &["tools", "--refresh"]);
    home.write_tools("shop", &[ADD]);
    prints("print(await mcp__shop__add(1, 2))");
    home.write_tools("shop", &[ECHO]);
    succeeds(&home, &["tools", "--refresh"]);
    home.write_tools("shop", &[ADD]);
    prints("print(tools.add(1, 2))");
    refused("print(await mcp__shop__echo(1, 2))");
}

#[test]
fn a_program_begins_before_its_servers_are_there() {
    let home = Home::new();
    let log = home.text_path("log");
    scripted(&home, "");
    succeeds(&home, &["tools"]);
    // The server never answers, and the program only names its tool.
    scripted(&home, &format!("--hang-on-init --log '{log}'"));
    let ended = home.run("print('begun')\nif False:\n    await mcp__shop__add(a=1, b=2)");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "begun\n"), "{ended:?}");
}

#[test]
fn a_tool_by_its_own_name_starts_the_server_that_had_it() {
    let home = home(&[("shop", &[ADD]), ("lab", &[ECHO]), ("works", &[ECHO])]);
    let code = "print(tools.add(1, 2))";
    assert_eq!(home.run(code).stdout, "3\n");
    // Any server might have had it.
    assert_eq!(started(&home), ["lab", "shop", "works"]);
    assert_eq!(home.run(code).stdout, "3\n");
    assert_eq!(started(&home), ["shop"]);
    home.write(
        "plan.json",
        json!({ "target_tool": "add", "tool_args": { "a": 1, "b": 2 } }).to_string(),
    );
    assert_eq!(succeeds(&home, &["proxy", &home.text_path("plan.json")]).stdout, "3\n");
    assert_eq!(started(&home), ["shop"]);
    // It has moved: the server that had it is asked first, and then the others.
    home.write_tools("shop", &[("other", "")]);
    home.write_tools("lab", &[ADD]);
    assert_eq!(home.run(code).stdout, "3\n");
    assert_eq!(started(&home), ["lab", "shop", "works"]);
    assert_eq!(home.run(code).stdout, "3\n");
    assert_eq!(started(&home), ["lab"]);
    // Where several had it, what they have now decides.
    home.write_tools("lab", &[ADD, ECHO]);
    succeeds(&home, &["tools", "--refresh"]);
    home.write_tools("works", &[]);
    started(&home);
    let ended = home.run("print(tools.echo(value=3))");
    assert_eq!((ended.stdout.as_str(), started(&home).len()), ("3\n", 3), "{ended:?}");
}

#[test]
fn a_name_that_does_not_exist_is_compared_with_what_was_seen() {
    let home = home(&[("shop", &[ADD]), ("lab", &[ECHO])]);
    let call = || finish(home.onecall_with_config(&["call", "mcp__shop__ad", "a=1", "b=2"]));
    let first = call();
    assert!(first.stderr.contains("Did you mean: 'mcp__shop__add'"), "{first:?}");
    assert_eq!(started(&home), ["lab", "shop"]);
    // Whether it exists is asked of the server that could have it, and of no other.
    assert_eq!(call().stderr, first.stderr);
    assert_eq!(started(&home), ["shop"]);
    home.write_tools("shop", &[ADD, ("ad", "")]);
    let found = call();
    assert!(!found.stderr.contains("Did you mean"), "{found:?}");
}
