//! What runs a program: the embedded interpreter, the system's, or whichever has the
//! modules that the program imports.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use onecall_core::{EngineChoice, Language};
use onecall_engine::{ENGINES, EngineSpec};
use serde_json::{Value, json};

use crate::support::{Gateway, Home, failed, finish, fixture, has_system_python, printed};

const EMBEDDED: &str = "RustPython\n";
const SYSTEM: &str = "CPython\n";

/// A program that says what runs it.
fn telling(code: &str) -> String {
    format!("{code}\nimport platform\nprint(platform.python_implementation())")
}

#[test]
fn a_program_runs_on_the_engine_that_is_asked_for() {
    let mut gateway = Gateway::new();
    let mut on = |engine| printed(&gateway.execute_on(engine, &telling("")));
    assert_eq!(on("python"), EMBEDDED);
    assert_eq!(on("auto"), EMBEDDED);
    if has_system_python() {
        assert_eq!(on("cpython"), SYSTEM);
    }
}

/// Checks that programs of a language have on this engine what they have on every engine.
fn check_features(engine: &EngineSpec, language: Language) {
    let (file, shows, reads) = match language {
        Language::Python => {
            ("program.py", "display(bytes.fromhex('89504e470d0a1a0a'))", "open('a.txt').read()")
        }
        Language::TypeScript => (
            "program.ts",
            "display(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))",
            "(await import('fs')).readFileSync('a.txt')",
        ),
    };
    let home = Home::with_config(&json!({ "workspace": { "path": "data" } }));
    home.write("data/a.txt", "a");
    home.write(file, "1");
    let started = home.onecall_with_config(&["run", &home.text_path(file), "word"]);
    assert_eq!(finish(started).code, Some(0), "{:?}", engine.name);
    let mut gateway = Gateway::in_home(home);
    let mut execute = |code: &str, key: &str, value: Value| {
        let mut arguments = json!({ "code": code, "language": language.name() });
        if EngineChoice::named(engine.name.name()).is_some() {
            arguments["engine"] = engine.name.name().into();
        }
        arguments[key] = value;
        gateway.session.call_tool("execute_program", arguments)
    };
    for (code, key, value) in [
        ("1", "session", "a".into()),
        (reads, "session", Value::Null),
        (shows, "session", Value::Null),
    ] {
        assert!(!execute(code, key, value).is_error, "{:?}: {code}", engine.name);
    }
    let preview = execute("1", "dry_run", true.into()).text;
    assert!(preview.ends_with("It calls no tools."), "{:?}: {preview}", engine.name);
}

#[test]
fn every_engine_offers_the_same() {
    for engine in ENGINES.iter().filter(|it| it.is_built_in() || has_system_python()) {
        for language in engine.languages {
            check_features(engine, *language);
        }
    }
}

#[test]
fn an_engine_that_does_not_exist_is_explained() {
    let mut gateway = Gateway::new();
    let answer = gateway.execute_on("perl", "print(1)");
    let expected = "execute_program: 'engine' must be one of auto, python, cpython";
    assert_eq!(failed(&answer), expected);
}

#[test]
fn the_configuration_chooses_for_programs_that_do_not() {
    if !has_system_python() {
        return;
    }
    let home = Home::with_config(&json!({ "engine": "cpython" }));
    let ended = home.run(&telling(""));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), SYSTEM));

    home.write("program.py", telling(""));
    let program = home.text_path("program.py");
    let asked = finish(home.onecall_with_config(&["run", "--engine", "python", &program]));
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), EMBEDDED));
}

#[test]
fn imports_decide_where_nobody_does() {
    if !has_system_python() {
        return;
    }
    let mut gateway = Gateway::new();
    // The embedded interpreter has no SQLite and no foreign functions.
    let cases = [
        ("import sqlite3", SYSTEM),
        ("import json, sqlite3 as database", SYSTEM),
        ("from sqlite3 import connect", SYSTEM),
        ("def later():\n    import sqlite3", SYSTEM),
        ("class Store:\n    async def open(self):\n        from sqlite3 import dbapi2", SYSTEM),
        ("try:\n    import sqlite3\nexcept ImportError:\n    pass", SYSTEM),
        ("import sqlite3\ntry:\n    import nobody_has_this\nexcept ImportError:\n    pass", SYSTEM),
        ("import ctypes\nprint(ctypes.sizeof(ctypes.c_int32))", "4\nCPython\n"),
        ("from ctypes.util import find_library", SYSTEM),
        ("import _ctypes", SYSTEM),
        ("import json, asyncio, xml.etree.ElementTree", EMBEDDED),
        ("text = '''\nimport sqlite3\n'''  # import sqlite3", EMBEDDED),
        ("try:\n    import nobody_has_this\nexcept ImportError:\n    pass", EMBEDDED),
    ];
    for (code, expected) in cases {
        assert_eq!(printed(&gateway.execute(&telling(code))), expected, "{code}");
    }
}

#[test]
fn nothing_runs_before_the_engine_is_chosen() {
    if !has_system_python() {
        return;
    }
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    let code = "
        print(await mcp__fixture__add(1, 2))
        import sqlite3
        print(sqlite3.connect(':memory:').execute('select 6 * 7').fetchone())
    ";
    assert_eq!(gateway.prints(code), "3\n(42,)\n");
    assert_eq!(received.calls("add"), 1);
}

#[test]
fn a_module_that_nobody_has_is_missing() {
    let mut gateway = Gateway::new();
    let reason = gateway.fails("import nobody_has_this");
    assert!(
        reason.contains("\nModuleNotFoundError: No module named 'nobody_has_this'\n"),
        "{reason}"
    );
}

#[test]
fn foreign_functions_are_missing_from_the_embedded_interpreter_alone() {
    let mut gateway = Gateway::new();
    let missing = failed(&gateway.execute_on("python", "import ctypes"));
    assert!(missing.contains("\nModuleNotFoundError: No module named '_ctypes'\n"), "{missing}");
    // What of the standard library would use them if they were there does without.
    let code = "
try:
    import ctypes
except ModuleNotFoundError as error:
    print(error.name)
import multiprocessing, platform, uuid, webbrowser
print(platform.platform() != '', len(str(uuid.uuid1())), uuid.getnode() > 0)
";
    assert_eq!(printed(&gateway.execute_on("python", code)), "_ctypes\nTrue 36 True\n");
}

#[test]
fn without_a_system_python_the_reason_is_told() {
    let home = Home::with_config(&json!({ "python": "/nowhere/python" }));
    home.write("program.py", "print(1)");
    let program = home.text_path("program.py");
    let ended = finish(home.onecall_with_config(&["run", "--engine", "cpython", &program]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        ended.stderr.lines().next(),
        Some(
            "the engine could not start: /nowhere/python cannot be started: \
             No such file or directory (os error 2); set `python` to a CPython from 3.11 on"
        )
    );

    // Programs that need none run as ever, others miss what they import.
    assert_eq!(home.run("print(1)").stdout, "1\n");
    let lacking = home.run("import sqlite3");
    assert!(lacking.stderr.contains("No module named '_sqlite3'"), "{}", lacking.stderr);
    assert!(
        lacking.stderr.contains("WARN the system's Python is not used: "),
        "{}",
        lacking.stderr
    );
}

#[test]
fn what_is_no_python_is_not_taken_for_one() {
    let home = Home::with_config(&json!({}));
    let script = home.write("impostor", "#!/bin/sh\ntouch \"$0.ran\"\n").display().to_string();
    set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let cases = [
        ("/bin/false", "is not a Python that onecall can use (exit status: 1): it printed nothing"),
        ("/bin/echo", "is not a Python that onecall can use (exit status: 0): it printed nothing"),
        (&script, "is a script; only an interpreter itself can be locked in"),
    ];
    for (impostor, expected) in cases {
        home.set("python", impostor);
        home.write("program.py", "print(1)");
        let program = home.text_path("program.py");
        let ended = finish(home.onecall_with_config(&["run", "--engine", "cpython", &program]));
        let reason = format!(
            "the engine could not start: {impostor} {expected}; set `python` to a CPython from \
             3.11 on"
        );
        assert_eq!((ended.code, ended.stderr.lines().next()), (Some(2), Some(reason.as_str())));
    }
    assert!(!home.path("impostor.ran").exists());
}

#[test]
fn packages_of_the_system_python_work() {
    let Ok(packages) = std::env::var("ONECALL_TEST_PACKAGES") else {
        eprintln!("skipped: no virtual environment with packages; `cargo xtask test` makes one");
        return;
    };
    let servers = [fixture("fixture", &[])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers, "python": packages }));
    let code = "
        import numpy, pandas
        amount = await mcp__fixture__add(20, 22)
        frame = pandas.DataFrame({'region': ['EU', 'US', 'EU'], 'amount': [amount, 1, 8]})
        print(frame.groupby('region')['amount'].sum().to_dict())
        print(numpy.linalg.solve(numpy.array([[2.0, 0.0], [0.0, 4.0]]), numpy.array([2.0, 8.0])))
    ";
    assert_eq!(gateway.prints(code), "{'EU': 50, 'US': 1}\n[1. 2.]\n");
}
