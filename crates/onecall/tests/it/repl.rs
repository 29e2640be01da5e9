//! `onecall repl`, its input from a pipe: programs that share their variables.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Home, fixture};

/// What it prints and what it says, given these lines.
fn typed(lines: &str) -> (String, String) {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let mut command = home.onecall_with_config(&["repl"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn variables_stay_and_values_are_shown() {
    let lines = "x = await mcp__fixture__add(1, 2)\nx + 1\nfor i in range(2):\n    print(i, x)\n\nNone\n{'a': 'é'}\n";
    assert_eq!(typed(lines), ("4\n0 3\n1 3\n{\"a\": \"é\"}\n".to_owned(), String::new()));
}

#[test]
fn a_failure_ends_nothing() {
    let (stdout, stderr) = typed("y = 1\n1 / 0\ny\nawait mcp__fixture__ad(1, 2)\ny + 1\n");
    assert_eq!(stdout, "1\n2\n");
    assert!(stderr.contains("ZeroDivisionError: division by zero"), "{stderr}");
    assert!(stderr.contains("mcp__fixture__add"), "the nearest name: {stderr}");
}

#[test]
fn commands() {
    let (stdout, stderr) = typed(
        "z = 1\n:reset\nz\n:show mcp__fixture__add\n:tools add numbers\n:nothing\n:quit\nz = 2\nz\n",
    );
    assert!(stderr.contains("NameError: name 'z' is not defined"), "{stderr}");
    assert!(stderr.contains("there is no command :nothing; :help lists the commands"), "{stderr}");
    assert!(stdout.starts_with("await mcp__fixture__add("), "{stdout}");
    assert!(stdout.contains("\nmcp__fixture__add "), "a row of the search: {stdout}");
    assert!(!stdout.ends_with("2\n"), "nothing is read after :quit: {stdout}");
}
