//! What shells complete with the scripts that `onecall completions` prints.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::bins;

use crate::support::{Home, finish, fixture};

/// Completes the last of these words.
fn completed(home: &Home, words: &[&str]) -> Vec<String> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c"])
        .arg(
            "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
             _onecall_with_names \"$1\" \"${COMP_WORDS[COMP_CWORD]}\" \
             \"${COMP_WORDS[COMP_CWORD - 1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"",
        )
        .args(["bash", &home.text_path("script")])
        .arg(bins::onecall())
        .args(words);
    let onecall = home.onecall(&[]);
    bash.env_clear();
    bash.envs(onecall.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.current_dir(onecall.get_current_dir().unwrap());
    let ended = finish(bash);
    assert_eq!(ended.stderr, "");
    ended.stdout.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_completes_the_names_of_servers() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    let home = Home::new();
    let script = finish(home.onecall(&["completions", "bash"])).stdout;
    home.write("script", script);
    let hostile = format!("files $(touch {})", home.text_path("touched"));
    let servers = format!(
        "servers:\n  - {{name: time, command: x}}\n  - {{name: '{hostile}', command: x}}\n"
    );
    home.write("home/config/onecall/config.yaml", servers);
    assert_eq!(completed(&home, &["remove", "t"]), ["time"]);
    assert_eq!(completed(&home, &["tools", "--server", "t"]), ["time"]);
    let both = completed(&home, &["disable", "time", ""]);
    assert_eq!(both.len(), 2);
    assert!(both[1].starts_with("files\\ \\$\\(touch\\ "), "{both:?}");
    assert!(!home.path("touched").exists());
    assert_eq!(completed(&home, &["disab"]), ["disable"]);
    assert_eq!(completed(&home, &["remove", "--qui"]), ["--quiet"]);
}

/// A home whose servers' tools were seen, and which has the script for a shell in `script`.
fn seen(shell: &str) -> Home {
    let home = Home::new();
    home.write("script", finish(home.onecall(&["completions", shell])).stdout);
    home.write_tools("tools", &[("add", ""), ("echo", "")]);
    let servers =
        [fixture("shop", &["--tools-file", &home.text_path("tools")]), fixture("lab", &[])];
    home.write("home/config/onecall/config.yaml", json!({ "servers": servers }).to_string());
    let none = finish(home.onecall(&["tool-names"]));
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", ""));
    assert_eq!(finish(home.onecall(&["tools"])).code, Some(0));
    for user in ["anna", "ben"] {
        assert_eq!(finish(home.onecall(&["users", "add", user])).code, Some(0));
    }
    home
}

/// Words to complete, and what they become in every shell.
const CASES: [(&[&str], &[&str]); 12] = [
    (&["call", "mcp__shop__"], &["mcp__shop__add", "mcp__shop__echo"]),
    (&["-q", "call", "mcp__shop__e"], &["mcp__shop__echo"]),
    (&["--log", "off", "call", "mcp__shop__e"], &["mcp__shop__echo"]),
    (&["tools", "show", "mcp__shop__a"], &["mcp__shop__add"]),
    (&["runs", "--tool", "mcp__shop__a"], &["mcp__shop__add"]),
    (&["tools", "--server", "sh"], &["shop"]),
    (&["remove", "lab", "sh"], &["shop"]),
    (&["login", "sh"], &["shop"]),
    (&["users", "remove", "an"], &["anna"]),
    (&["users", "token", "--label", "laptop", "an"], &["anna"]),
    (&["secrets", "list", "--user", "an"], &["anna"]),
    (&["disab"], &["disable"]),
];

#[test]
fn bash_completes_the_names_of_tools() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    let home = seen("bash");
    for (words, expected) in CASES {
        assert_eq!(completed(&home, words), expected, "{words:?}");
    }
    assert_eq!(completed(&home, &["call", "mcp__shop__add", "mcp__shop"]), [""; 0]);
}

/// Runs a script of another shell with the environment of this home, `onecall` on its path.
fn in_shell(home: &Home, shell: &str, script: &str) -> String {
    let onecall = home.onecall(&[]);
    let mut command = Command::new(shell);
    command.args(if shell == "zsh" { ["-f", "-c"] } else { ["--no-config", "-c"] }).arg(script);
    command.env_clear();
    command.envs(onecall.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let folder = bins::onecall().parent().unwrap().display().to_string();
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    command.env("TERM", "dumb");
    command.current_dir(onecall.get_current_dir().unwrap());
    let ended = finish(command);
    assert_eq!(ended.stderr, "", "{script}");
    ended.stdout
}

fn has(shell: &str) -> bool {
    Command::new(shell).args(["-c", "exit"]).status().is_ok_and(|status| status.success())
}

#[test]
fn fish_completes_the_names_of_servers_and_tools() {
    if !has("fish") {
        return;
    }
    let home = seen("fish");
    for (words, expected) in CASES {
        let line = format!("onecall {}", words.join(" "));
        let script = format!("source {}; complete -C '{line}'", home.text_path("script"));
        let completed = in_shell(&home, "fish", &script);
        // A description may follow after a tab.
        let completed: Vec<&str> =
            completed.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(completed, expected, "{words:?}");
    }
}

#[test]
fn zsh_completes_the_names_of_servers_and_tools() {
    if !has("zsh") {
        return;
    }
    let home = seen("zsh");
    std::fs::create_dir(home.path("functions")).unwrap();
    std::fs::copy(home.path("script"), home.path("functions/_onecall")).unwrap();
    // As where it is loaded when it is first used; what is offered is printed instead.
    let harness = "\
        fpath=($1 $fpath); autoload -Uz _onecall\n\
        compadd() {\n\
            local word\n\
            for word in ${(P)2}; do [[ $word == $PREFIX* ]] && print -r -- $word; done\n\
        }\n";
    // What is no name is left to the generated script.
    let generated = "compdef() {}; source $1/_onecall; _onecall_options() { print disable }\n";
    for (words, expected) in CASES {
        let more = if expected == ["disable"] { generated } else { "" };
        let (line, last) = (words.join(" "), words.last().unwrap());
        let script = format!(
            "set -- {}\n{harness}{more}\
             words=(onecall {line}); CURRENT=$#words; PREFIX='{last}'; _onecall",
            home.text_path("functions"),
        );
        let completed = in_shell(&home, "zsh", &script);
        assert_eq!(completed.lines().collect::<Vec<_>>(), expected, "{words:?}");
    }
}
