//! Folders for programs from which they could reach what is started or secret are refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use testkit::mcp::Session;

use crate::support::{Gateway, Home, finish, fixture};

/// What is said of a configuration that is refused, with `~` for the home's folder.
fn refusal(home: &Home, config: &Value) -> String {
    home.write("config.json", config.to_string());
    let ended = home.run("print('it ran')");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{config}: {}", ended.stderr);
    ended.stderr.replace(home.text_path("").trim_end_matches('/'), "~")
}

fn accepted(home: &Home, config: &Value) {
    home.write("config.json", config.to_string());
    let ended = home.run("print('it ran')");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "it ran\n"), "{}", ended.stderr);
}

fn writable(path: &str) -> Value {
    json!({ "path": path, "mode": "read-write" })
}

fn executable(home: &Home, name: &str) -> String {
    let path = home.write(name, "#!/bin/sh\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn a_workspace_beside_the_configuration_is_refused_with_a_way_out() {
    let home = Home::new();
    let expected = "error: the workspace '~' holds '~/config.json', the configuration in use, \
                    which says what onecall starts and may hold secrets\n  help: use another \
                    folder, such as '~/workspace', or keep the configuration elsewhere and name \
                    it with --config\n";
    for workspace in [json!({ "path": "." }), writable(".")] {
        assert_eq!(refusal(&home, &json!({ "workspace": workspace })), expected);
        for command in [&["check"][..], &["serve"], &["exec"], &["repl"], &["tools"]] {
            let ended = finish(home.onecall_with_config(command));
            let said = ended.stderr.replace(home.text_path("").trim_end_matches('/'), "~");
            assert_eq!((ended.code, said.as_str()), (Some(2), expected), "{command:?}");
        }
        let ended = finish(home.onecall_with_config(&["doctor"]));
        let said = ended.stdout.replace(home.text_path("").trim_end_matches('/'), "~");
        assert_eq!(ended.code, Some(1));
        assert!(said.contains("✗ folder  the workspace '~' holds '~/config.json'"), "{said}");
    }
    // Both ways out.
    fs::create_dir(home.path("workspace")).unwrap();
    accepted(&home, &json!({ "workspace": writable("workspace") }));
    home.write("elsewhere/config.json", json!({ "workspace": writable("../data") }).to_string());
    fs::create_dir(home.path("data")).unwrap();
    let mut command = home.onecall(&["run", &home.text_path("program.py")]);
    command.arg("--config").arg(home.path("elsewhere/config.json"));
    assert_eq!(finish(command).stdout, "it ran\n");
}

#[test]
fn links_and_steps_up_hide_nothing() {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    symlink(home.path(""), home.path("data/link")).unwrap();
    symlink("data/link", home.path("chain")).unwrap();
    for path in ["data/..", "data/link", "chain", "work/../chain"] {
        let said = refusal(&home, &json!({ "workspace": { "path": path } }));
        let real = format!("error: the workspace '~/{path}' (really '~') holds '~/config.json'");
        assert!(said.starts_with(&real), "{said}");
    }
    // A link to the configuration is as good as the configuration.
    let config = json!({ "workspace": writable(&home.text_path("data")) });
    home.write("real.json", config.to_string());
    symlink("../real.json", home.path("data/config.json")).unwrap();
    home.write("program.py", "print(1)");
    let mut command = home.onecall(&["run", &home.text_path("program.py")]);
    command.arg("--config").arg(home.path("data/config.json"));
    let ended = finish(command);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("data/config.json', the configuration in use"),
        "{}",
        ended.stderr
    );
}

#[test]
fn nothing_that_is_started_or_believed_lies_in_a_writable_workspace() {
    let home = Home::new();
    fs::create_dir_all(home.path("data/venv/bin")).unwrap();
    let server = executable(&home, "data/bin/server");
    home.write("data/server.py", "");
    home.write("data/package/__main__.py", "");
    home.write("data/packages/node_modules/x/index.js", "");
    symlink(home.path("data/bin/server"), home.path("linked")).unwrap();
    let stdio = |entry: Value| {
        let mut server = json!({ "name": "s", "command": "sh", "lazy": true });
        server.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        json!({ "servers": [server] })
    };
    let tool = |command: Value| json!({ "local_tools": { "t": { "command": command } } });
    let cases = [
        (json!({ "store": { "path": "data/runs.db" } }), "holds '~/data/runs.db', the store"),
        (json!({ "python": "./data/venv" }), "a part of the Python that runs programs"),
        (json!({ "python": "./data/later/bin/python" }), "a part of the Python that runs programs"),
        (stdio(json!({ "command": server })), "holds '~/data/bin/server', from which server 's'"),
        (stdio(json!({ "command": home.text_path("linked") })), "from which server 's' is started"),
        (stdio(json!({ "command": "../data/later" })), "from which server 's' is started"),
        (stdio(json!({ "args": ["../data/server.py"] })), "an argument of server 's'"),
        (stdio(json!({ "args": ["--script=../data/server.py"] })), "an argument of server 's'"),
        (stdio(json!({ "args": [home.text_path("data/package")] })), "an argument of server 's'"),
        (
            stdio(json!({ "args": ["x.js"], "cwd": home.text_path("data") })),
            "is '~/data', in which server 's' is started",
        ),
        (
            stdio(json!({ "env": { "PYTHONPATH": home.text_path("data/lib") } })),
            "holds '~/data/lib', which the variable PYTHONPATH gives to server 's'",
        ),
        (
            stdio(json!({ "env": { "PATH": home.text_path("data/bin") }, "command": "server" })),
            "from which server 's' is started",
        ),
        (tool(json!(["./data/bin/server"])), "from which local tool 't' is started"),
        (tool(json!(["sh", home.text_path("data/server.py")])), "an argument of local tool 't'"),
    ];
    for (case, expected) in cases {
        let mut config = case.clone();
        config["workspace"] = writable("data");
        let said = refusal(&home, &config);
        assert!(
            said.starts_with("error: the workspace '~/data' ") && said.contains(expected),
            "{case}: {said}"
        );
        // What has to be kept from being changed only can be shown.
        config["workspace"] = json!({ "path": "data" });
        if !expected.contains("store") {
            accepted(&home, &config);
        }
        // The folder of a local tool is checked like a workspace.
        config["local_tools"]["w"] = json!({ "builtin": "write_file", "root": "data" });
        config.as_object_mut().unwrap().remove("workspace");
        let said = refusal(&home, &config);
        assert!(
            said.contains("'root' of local tool 'w' '~/data'") && said.contains(expected),
            "{said}"
        );
    }
    // Inside of what is installed as a whole.
    let packages = "data/packages/node_modules/x";
    let mut config = stdio(json!({ "args": [home.text_path(&format!("{packages}/index.js"))] }));
    fs::create_dir(home.path(&format!("{packages}/lib"))).unwrap();
    config["workspace"] = writable(&format!("{packages}/lib"));
    let said = refusal(&home, &config);
    assert!(
        said.contains("is inside '~/data/packages/node_modules', with code that server 's'"),
        "{said}"
    );
}

#[test]
fn what_is_secret_is_not_shown_either() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/state/onecall/logins")).unwrap();
    let cases = [
        ("home", "holds '~/home/config/onecall/config.yaml', the user's configuration"),
        ("home/state", "holds '~/home/state/onecall', in which onecall keeps logins"),
        ("home/state/onecall/logins", "is inside '~/home/state/onecall', in which onecall keeps"),
    ];
    for (path, expected) in cases {
        for config in [
            json!({ "workspace": { "path": path } }),
            json!({ "local_tools": { "r": { "builtin": "read_file", "root": path } } }),
        ] {
            let said = refusal(&home, &config);
            assert!(said.contains(expected), "{path}: {said}");
        }
    }
    // Names alone are no secrets.
    accepted(&home, &json!({ "local_tools": { "l": { "builtin": "list_files", "root": "." } } }));
}

#[test]
fn files_of_clients_are_protected() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/.cursor")).unwrap();
    let said = refusal(&home, &json!({ "workspace": { "path": "home/.cursor" } }));
    assert!(
        said.contains("holds '~/home/.cursor/mcp.json', the configuration of Cursor"),
        "{said}"
    );
    // A project: its files are not there yet, and must not be made by a program.
    let said = refusal(&home, &json!({ "workspace": writable("work") }));
    assert!(said.contains("the configuration of"), "{said}");
    accepted(&home, &json!({ "workspace": { "path": "work" } }));
    // They are not shown where there are secrets in them, here or in another project.
    for folder in ["work", "project"] {
        let entry = json!({ "command": "x", "env": { "API_KEY": "sk-live-8f2b71c09d3e4a55b6" } });
        let servers = json!({ "mcpServers": { "s": entry } });
        home.write(&format!("{folder}/.mcp.json"), servers.to_string());
        let said = refusal(&home, &json!({ "workspace": { "path": folder } }));
        assert!(said.contains(".mcp.json', the configuration of Claude Code"), "{said}");
    }
}

#[test]
fn a_folder_of_path_is_not_for_programs_to_write_to() {
    let home = Home::new();
    fs::create_dir_all(home.path("data/bin")).unwrap();
    home.write("config.json", json!({ "workspace": writable("data") }).to_string());
    home.write("program.py", "print(1)");
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{path}:{}", home.text_path("data/bin")));
    let ended = finish(command);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("data/bin', a folder of PATH"), "{}", ended.stderr);
}

#[test]
fn what_programs_see_of_tools_is_not_for_programs_to_write() {
    let home = Home::with_config(&json!({ "workspace": writable("data") }));
    fs::create_dir_all(home.path("data/runtime")).unwrap();
    home.write("program.py", "print(1)");
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    command.env("XDG_RUNTIME_DIR", home.path("data/runtime"));
    let ended = finish(command);
    assert_eq!(ended.code, Some(2));
    let expected = "data/runtime', in which onecall keeps what programs see in /tools";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[test]
fn a_configuration_that_brings_an_overlap_is_not_taken_over() {
    let home = Home::with_config(&json!({ "workspace": writable("data") }));
    fs::create_dir_all(home.path("data")).unwrap();
    fs::create_dir_all(home.path("other")).unwrap();
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    // What a program has written is not started, even if the workspace is said to be another
    // one: that one is used until the next start.
    let planted = executable(&gateway.home, "data/planted");
    let servers = json!([{ "name": "planted", "command": planted }, fixture("new", &[])]);
    let other = json!({ "servers": servers, "workspace": writable("other") });
    let rewrite = |gateway: &Gateway, config: &Value| {
        let new = gateway.home.write("config.json.new", config.to_string());
        fs::rename(new, gateway.home.path("config.json")).unwrap();
    };
    rewrite(&gateway, &other);
    gateway.wait_for_log(&["ERROR", "data/planted', from which server 'planted' is started"]);
    gateway.wait_for_log(&["the previous configuration stays in use"]);
    assert_eq!(gateway.callable_tools(), [""; 0]);
    let servers = json!([fixture("new", &[])]);
    let tools = json!({ "w": { "builtin": "write_file", "root": "." } });
    rewrite(
        &gateway,
        &json!({ "servers": servers, "workspace": writable("data"), "local_tools": tools }),
    );
    gateway.wait_for_log(&["ERROR", "'root' of local tool 'w'", "the configuration in use"]);
    assert_eq!(gateway.callable_tools(), [""; 0]);
    rewrite(&gateway, &json!({ "servers": servers, "workspace": writable("data") }));
    gateway.wait_for_log(&["INFO", "added: new"]);
    assert_eq!(gateway.prints("print(await mcp__new__add(1, 2))"), "3\n");
}

#[test]
fn the_workspace_of_an_embedding_host_is_looked_at() {
    let home = Home::with_config(&json!({}));
    for folder in [home.text_path(""), home.text_path("home"), ".".to_owned()] {
        let ended = finish(home.onecall_with_config(&["exec", "--workspace", &folder]));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{folder}");
        assert!(ended.stderr.starts_with("error: the workspace '"), "{}", ended.stderr);
        assert!(ended.stderr.contains("\n  help: use another folder"), "{}", ended.stderr);
    }
}
