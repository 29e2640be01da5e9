//! The built-in tools for the files of a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::process::Process;

use crate::support::{Gateway, Home};

fn tools() -> Value {
    let tool = |builtin: &str| json!({ "builtin": builtin, "root": "./notes" });
    json!({
        "read": tool("read_file"),
        "write": tool("write_file"),
        "list": tool("list_files"),
        "glob": tool("glob"),
    })
}

/// A gateway whose tools have the folder `notes`, and a secret beside it.
fn gateway() -> Gateway {
    let home = Home::with_config(&json!({ "local_tools": tools() }));
    home.write("notes/a.md", "one\ntwo\nthree\n");
    home.write("notes/sub/b.md", "{\"not\": \"parsed\"}");
    home.write("notes/sub/deep/c.txt", "é");
    home.write("notes/.hidden/d.md", "d");
    home.write("notes/binary", [b'a', 0xff]);
    home.write("secret/key.md", "s3cret");
    Gateway::in_home(home)
}

/// What a program says about each of these calls.
fn outcomes(gateway: &mut Gateway, calls: &[&str]) -> Vec<String> {
    let mut code = String::new();
    for call in calls {
        code += &format!(
            "try:\n    print(repr(await mcp__local__{call}))\n\
             except Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')\n"
        );
    }
    gateway.prints(&code).lines().map(str::to_owned).collect()
}

#[test]
fn files_are_read() {
    let mut gateway = gateway();
    let calls = [
        "read('a.md')",
        "read('a.md', offset=1)",
        "read('a.md', offset=1, limit=1)",
        "read('a.md', limit=0)",
        "read('a.md', offset=99, limit=99)",
        "read('./sub//b.md')",
        "read('binary')",
        "read('nothing.md')",
        "read('sub')",
        "read('a.md/x')",
        "read('')",
        "read('a\\x00b')",
    ];
    let said = outcomes(&mut gateway, &calls).join("\n");
    assert_snapshot!(said, @r#"
    'one\ntwo\nthree\n'
    'two\nthree\n'
    'two\n'
    ''
    ''
    '{"not": "parsed"}'
    ToolError: 'mcp__local__read' failed: 'binary' is not a text file: byte 1 of what was read is not UTF-8
    ToolError: 'mcp__local__read' failed: 'nothing.md' does not exist
    ToolError: 'mcp__local__read' failed: 'sub' is a folder
    ToolError: 'mcp__local__read' failed: 'a.md/x' is not a folder, or a part of it is not
    ToolError: 'mcp__local__read' failed: the path is empty
    ToolError: 'mcp__local__read' failed: the path holds a NUL character
    "#);
}

#[test]
fn files_are_written() {
    let mut gateway = gateway();
    let calls = [
        "write('new.txt', 'é')",
        "write('new.txt', 'more', append=True)",
        "write('a.md', 'short')",
        "write('x/y/z.txt', content='')",
        "write('x/y/z.txt/w', 'x')",
        "write('sub', 'x')",
        "write('large', 'x' * 8_388_609)",
        "write('fits', 'x' * 8_388_608)",
        "write('fits', 'x', append=True)",
        "list()",
        "list('x')",
        "list('x/y')",
        "list('a.md')",
        "list('none')",
        "glob('*.md')",
        "glob('**/*.md')",
        "glob('**')",
        "glob('.hidden/*')",
        "glob('sub/[a-c].m?')",
        "glob('../*')",
        "glob('/etc/*')",
    ];
    let said = outcomes(&mut gateway, &calls).join("\n");
    assert_snapshot!(said, @"
    {'size': 2}
    {'size': 6}
    {'size': 5}
    {'size': 0}
    ToolError: 'mcp__local__write' failed: 'x/y/z.txt/w' is not a folder, or a part of it is not
    ToolError: 'mcp__local__write' failed: 'sub' is a folder
    ToolError: 'mcp__local__write' failed: 'large' would have more than 8 MiB
    {'size': 8388608}
    ToolError: 'mcp__local__write' failed: 'fits' would have more than 8 MiB
    [{'name': '.hidden', 'type': 'folder', 'size': 0}, {'name': 'a.md', 'type': 'file', 'size': 5}, {'name': 'binary', 'type': 'file', 'size': 2}, {'name': 'fits', 'type': 'file', 'size': 8388608}, {'name': 'new.txt', 'type': 'file', 'size': 6}, {'name': 'sub', 'type': 'folder', 'size': 0}, {'name': 'x', 'type': 'folder', 'size': 0}]
    [{'name': 'y', 'type': 'folder', 'size': 0}]
    [{'name': 'z.txt', 'type': 'file', 'size': 0}]
    ToolError: 'mcp__local__list' failed: 'a.md' is not a folder, or a part of it is not
    ToolError: 'mcp__local__list' failed: 'none' does not exist
    ['a.md']
    ['a.md', 'sub/b.md']
    ['a.md', 'binary', 'fits', 'new.txt', 'sub/b.md', 'sub/deep/c.txt', 'x/y/z.txt']
    ['.hidden/d.md']
    ['sub/b.md']
    ToolError: 'mcp__local__glob' failed: a pattern cannot hold '..'
    ToolError: 'mcp__local__glob' failed: a pattern is relative to the tool's folder
    ");
    let text = |name: &str| fs::read_to_string(gateway.home.path(name)).unwrap();
    assert_eq!(text("notes/new.txt"), "émore");
    assert_eq!(text("notes/a.md"), "short");
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let mut gateway = gateway();
    let home = &gateway.home;
    let secret = home.text_path("secret/key.md");
    let links = [
        ("../secret/key.md", "up"),
        ("../secret", "upfolder"),
        ("../secret/new", "dangling"),
        ("/etc", "etc"),
        ("/dev/zero", "zero"),
        ("/proc/self", "self"),
        ("../notes/a.md", "outandin"),
        ("loop", "loop"),
    ];
    for (target, link) in links {
        symlink(target, home.path("notes").join(link)).unwrap();
    }
    symlink(&secret, home.path("notes/absolute")).unwrap();
    let paths = [
        "../secret/key.md",
        "sub/../../secret/key.md",
        "./../secret/key.md",
        "sub/deep/../../../secret/key.md",
        &secret,
        "/etc/passwd",
        "//etc//passwd",
        "up",
        "absolute",
        "upfolder/key.md",
        "etc/passwd",
        "self/environ",
        "self/cwd/a.md",
        "zero",
        "dangling",
        "outandin",
        "loop",
        "~/.bashrc",
        "..\\secret\\key.md",
        "%2e%2e/secret/key.md",
        "\u{ff0e}\u{ff0e}/secret/key.md",
        "..",
    ];
    let calls: Vec<String> = paths
        .iter()
        .flat_map(|path| {
            let path = json!(path);
            [format!("read({path})"), format!("list({path})"), format!("glob({path})")]
        })
        .collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    for (call, said) in calls.iter().zip(outcomes(&mut gateway, &calls)) {
        let is_refused = said.starts_with("ToolError: ") || said == "[]";
        assert!(is_refused, "{call}: {said}");
    }
    let writes = ["../secret/new", &secret, "up", "absolute", "upfolder/new", "upfolder/x/new"];
    let writes =
        writes.iter().chain(&["dangling", "etc/onecall-new", "loop", "loop/x", "outandin"]);
    let calls: Vec<String> = writes.map(|path| format!("write({}, 'x')", json!(path))).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    for (call, said) in calls.iter().zip(outcomes(&mut gateway, &calls)) {
        assert!(said.starts_with("ToolError: "), "{call}: {said}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "s3cret");
    assert_eq!(fs::read_dir(gateway.home.path("secret")).unwrap().count(), 1);
    // A search passes over what leads out.
    let found = outcomes(&mut gateway, &["glob('**/*.md')", "glob('*/key.md')"]);
    assert_eq!(found, ["['a.md', 'sub/b.md']", "[]"]);
}

#[test]
fn special_files_block_nobody() {
    let mut gateway = gateway();
    let fifo = gateway.home.path("notes/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket =
        std::os::unix::net::UnixListener::bind(gateway.home.path("notes/socket")).unwrap();
    symlink("fifo", gateway.home.path("notes/tofifo")).unwrap();
    let calls = [
        "read('fifo')",
        "write('fifo', 'x')",
        "write('fifo', 'x', append=True)",
        "read('tofifo')",
        "read('socket')",
        "write('socket', 'x')",
        "glob('*')",
        "list('sub')",
    ];
    let said = outcomes(&mut gateway, &calls).join("\n");
    assert_snapshot!(said, @"
    ToolError: 'mcp__local__read' failed: 'fifo' is not a regular file
    ToolError: 'mcp__local__write' failed: 'fifo' is not a regular file
    ToolError: 'mcp__local__write' failed: 'fifo' is not a regular file
    ToolError: 'mcp__local__read' failed: 'tofifo' is not a regular file
    ToolError: 'mcp__local__read' failed: 'socket' is not a regular file
    ToolError: 'mcp__local__write' failed: 'socket' is not a regular file
    ['a.md', 'binary']
    [{'name': 'b.md', 'type': 'file', 'size': 17}, {'name': 'deep', 'type': 'folder', 'size': 0}]
    ");
}

#[test]
fn large_files_are_read_in_parts() {
    // Without records, whose tokens are counted meanwhile.
    let home = Home::with_config(&json!({ "local_tools": tools(), "records": "off" }));
    let line = "x".repeat(99) + "\n";
    home.write("notes/large.log", line.repeat(200_000));
    home.write("notes/one-line", "y".repeat(20_000_000));
    let mut gateway = Gateway::in_home(home);
    gateway.prints("pass");
    let process = Process::read(gateway.pid()).unwrap();
    let before = process.peak_bytes().unwrap();
    let code = "
        lines = 0
        while part := await mcp__local__read('large.log', offset=lines, limit=50_000):
            lines += part.count('\\n')
        print(lines)
        for path in ['large.log', 'one-line']:
            try:
                await mcp__local__read(path, limit=10**9)
            except ToolError as error:
                print(error)
        print(repr(await mcp__local__read('one-line', offset=1)))
    ";
    assert_snapshot!(gateway.prints(code), @"
    200000
    'mcp__local__read' failed: 'large.log': that is more than 8 MiB; read it in parts with offset and limit, which count lines
    'mcp__local__read' failed: 'one-line': that is more than 8 MiB; read it in parts with offset and limit, which count lines
    ''
    ");
    let grown = process.peak_bytes().unwrap().saturating_sub(before);
    assert!(grown < 100 << 20, "the gateway has grown by {grown} bytes");
}

#[test]
fn a_folder_that_is_missing_is_told_and_may_come() {
    let home = Home::with_config(&json!({ "local_tools": tools() }));
    let mut gateway = Gateway::in_home(home);
    let calls = ["read('a.md')", "write('a.md', 'x')", "list()", "glob('*')"];
    assert_snapshot!(outcomes(&mut gateway, &calls).join("\n"), @"
    ToolError: 'mcp__local__read' failed: the folder that is its root does not exist
    ToolError: 'mcp__local__write' failed: the folder that is its root does not exist
    ToolError: 'mcp__local__list' failed: the folder that is its root does not exist
    ToolError: 'mcp__local__glob' failed: the folder that is its root does not exist
    ");
    gateway.home.write("notes/a.md", "here");
    assert_eq!(outcomes(&mut gateway, &["read('a.md')"]), ["'here'"]);
    fs::remove_dir_all(gateway.home.path("notes")).unwrap();
    symlink("/", gateway.home.path("notes")).unwrap();
    let expected = "ToolError: 'mcp__local__read' failed: its root is the whole disk";
    assert_eq!(outcomes(&mut gateway, &["read('etc/passwd')"]), [expected]);
}

#[test]
fn they_describe_themselves() {
    let mut gateway = gateway();
    let mut described = String::new();
    for name in gateway.callable_tools() {
        let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }));
        let tool: Value = serde_json::from_str(&answer.text).unwrap();
        let text = |key: &str| tool[key].as_str().unwrap().to_owned();
        described += &format!("{}\n  {}\n", text("signature"), text("description"));
    }
    assert_snapshot!(described, @"
    await mcp__local__glob(pattern: str) -> list[str]
      Finds files of the folder 'notes' by a pattern: * and ? within a name, ** for any folders. Returns sorted paths.
    await mcp__local__list(path: str | None = None) -> list[{'name': str, 'type': Literal['file', 'folder', 'link', 'other'], 'size': int}]
      Lists the folder 'notes' or a folder in it.
    await mcp__local__read(path: str, offset: int | None = None, limit: int | None = None) -> str
      Reads a text file (UTF-8) of the folder 'notes'.
    await mcp__local__write(path: str, content: str, append: bool = False) -> {'size': int}
      Writes a text file of the folder 'notes', replacing what it held unless append is true. Makes the folders on the way.
    ");
}

#[test]
fn a_plan_returns_what_they_answer() {
    let mut gateway = gateway();
    let plan = json!({
        "target_tool": "mcp__local__write",
        "tool_args": { "path": "copy.md", "content": { "__tool__": "read", "args": { "path": "a.md" } } },
    });
    let answer = gateway.session.call_tool("proxy", plan);
    assert_eq!((answer.text.as_str(), answer.is_error), ("{\"size\":14}", false));
    let plan = json!({ "target_tool": "read", "tool_args": { "path": "copy.md" } });
    let answer = gateway.session.call_tool("proxy", plan);
    assert_eq!((answer.text.as_str(), answer.is_error), ("one\ntwo\nthree\n", false));
    let plan = json!({ "target_tool": "glob", "tool_args": { "pattern": "*.md" } });
    let answer = gateway.session.call_tool("proxy", plan);
    assert_eq!((answer.text.as_str(), answer.is_error), ("[\"a.md\",\"copy.md\"]", false));
}
