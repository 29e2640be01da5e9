//! The system's Python is found and asked what it is behind the walls of a program.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::{CommandResult, Home, finish, has_system_python};

/// A home with a virtual environment; `None` if there is no Python to make one with.
fn with_environment() -> Option<Home> {
    if !has_system_python() {
        eprintln!("skipped: there is no Python from 3.11 on");
        return None;
    }
    let home = Home::with_config(&json!({ "python": "./venv" }));
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--without-pip"]).arg(home.path("venv"));
    assert!(make.status().unwrap().success(), "a virtual environment");
    Some(home)
}

/// The folder of an environment's packages, relative to the home.
fn packages(home: &Home) -> String {
    let versions = fs::read_dir(home.path("venv/lib")).unwrap();
    let version = versions.last().unwrap().unwrap().file_name();
    format!("venv/lib/{}/site-packages", version.to_str().unwrap())
}

fn run(home: &Home, code: &str) -> CommandResult {
    home.write("program.py", code);
    let mut command =
        home.onecall_with_config(&["run", "--engine", "cpython", &home.text_path("program.py")]);
    command.env("ONECALL_TEST_SECRET", "s3cret");
    finish(command)
}

/// Code that an environment executes whenever Python starts. It ends Python with this code if
/// it gets anything while Python is asked what it is.
const GOT_SOMETHING: &str = "7";

#[test]
fn what_an_environment_executes_gets_nothing() {
    let Some(home) = with_environment() else { return };
    let packages = packages(&home);
    let [stolen, config] = ["stolen", "config.json"].map(|name| home.text_path(name));
    let spy = format!(
        "
import os, socket, sys

def steal():
    with open({stolen:?}, 'w') as file:
        return file.write(str(dict(os.environ)))

attempts = [
    steal,
    lambda: os.environ.get('ONECALL_TEST_SECRET'),
    lambda: os.environ.get('HOME'),
    lambda: open({config:?}).read(),
    lambda: open('/etc/passwd').read(),
    lambda: open('/proc/1/environ').read(),
    lambda: os.listdir('/'),
    lambda: socket.socket(),
    lambda: socket.socket(socket.AF_UNIX),
    lambda: os.fork(),
    lambda: os.execv('/bin/true', ['true']),
]
# The process from which workers are forked is started with `-X utf8`.
if not sys.flags.utf8_mode:
    for attempt in attempts:
        try:
            got = attempt()
        except OSError:
            got = None
        if got:
            os._exit({GOT_SOMETHING})
    print('text that is no answer')
"
    );
    home.write(&format!("{packages}/spy.py"), spy);
    home.write(&format!("{packages}/spy.pth"), "import spy\n");
    home.write(&format!("{packages}/wares.py"), "price = 42\n");
    home.write("project/src/mine.py", "name = 'mine'\n");
    let source = home.text_path("project/src");
    home.write(&format!("{packages}/editable.pth"), format!("# a comment\n\n{source}\n"));
    let ended = run(&home, "import sys, wares, mine\nprint(wares.price, mine.name, sys.prefix)");
    let expected = format!("42 mine {}\n", home.text_path("venv"));
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), expected.as_str()),
        "{}",
        ended.stderr
    );
    assert!(!home.path("stolen").exists());
}

#[test]
fn what_is_no_fitting_python_is_not_taken_for_one() {
    let Some(home) = with_environment() else { return };
    let packages = packages(&home);
    // The environment's own code shows what other interpreters would say.
    let cases = [
        ("import sys; sys.version_info = (3, 9, 1)", "is CPython 3.9.1"),
        ("import sys; sys.modules['ctypes'] = None", "lacks the module ctypes"),
        (
            "import os; os.write(2, b'oops\\n'); os._exit(3)",
            "is not a Python that onecall can use (exit status: 3): oops",
        ),
        (
            "import os; os._exit(0)",
            "is not a Python that onecall can use (exit status: 0): it printed nothing",
        ),
        (
            "import sys; sys.stdout = None; print = None; import json; json.dumps = lambda _: 'x' * 10**6",
            "is not a Python that onecall can use",
        ),
    ];
    let python = home.text_path("venv/bin/python");
    for (code, expected) in cases {
        home.write(&format!("{packages}/odd.pth"), format!("{code}\n"));
        let ended = run(&home, "print(1)");
        let reason = format!("the engine could not start: {python} {expected}");
        let said = ended.stderr.lines().next().unwrap_or_default();
        assert_eq!(ended.code, Some(2), "{code}: {said}");
        assert!(
            said.starts_with(&reason) && said.ends_with("; set `python` to a CPython from 3.11 on"),
            "{code}: {said}"
        );
    }
}

#[test]
fn modules_beside_secrets_are_withheld() {
    let Some(home) = with_environment() else { return };
    let packages = packages(&home);
    home.write("neighbour.py", "");
    home.write(&format!("{packages}/editable.pth"), format!("{}\n", home.text_path("")));
    let config = home.text_path("config.json");
    let code = format!(
        "try:\n    print(open({config:?}).read())\nexcept OSError as error:\n    \
         print(type(error).__name__)\nimport neighbour"
    );
    let ended = run(&home, &code);
    assert_eq!(ended.stdout, "FileNotFoundError\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("No module named 'neighbour'"), "{}", ended.stderr);
    assert!(ended.stderr.contains("WARN Python programs cannot import from"), "{}", ended.stderr);
}

/// The interpreter that `python3` means, without links.
fn real_python() -> PathBuf {
    let code = "import os, sys; print(os.path.realpath(sys.executable))";
    let said = Command::new("python3").args(["-c", code]).output().unwrap().stdout;
    PathBuf::from(String::from_utf8(said).unwrap().trim())
}

#[test]
fn a_shim_of_pyenv_is_seen_through() {
    if !has_system_python() {
        return;
    }
    let home = Home::with_config(&json!({}));
    let shim = home.write("pyenv/shims/python3", "#!/bin/sh\ntouch \"$0.ran\"\nexit 3\n");
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    for version in ["9.9.2", "9.9.10", "9.10.1"] {
        fs::create_dir_all(home.path(&format!("pyenv/versions/{version}/bin"))).unwrap();
    }
    symlink(real_python(), home.path("pyenv/versions/9.9.10/bin/python3")).unwrap();
    home.write("program.py", "import sys\nprint(sys.version_info >= (3, 11))");
    let ask = |variable: Option<&str>| {
        let program = home.text_path("program.py");
        let mut command = home.onecall_with_config(&["run", "--engine", "cpython", &program]);
        command.env("PATH", home.path("pyenv/shims"));
        command.envs(variable.map(|version| ("PYENV_VERSION", version)));
        finish(command)
    };
    // Chosen by a variable, for a project, and for the user.
    assert_eq!(ask(Some("9.9.10")).stdout, "True\n");
    home.write("pyenv/version", "# mine\n9.9\n");
    assert_eq!(ask(None).stdout, "True\n");
    home.write("work/.python-version", "9.10\n");
    let lost = ask(None);
    let said = lost.stderr.lines().next().unwrap_or_default();
    let expected = format!(
        "the engine could not start: {} is a script; only an interpreter itself can be locked in; \
         set `python` to a CPython from 3.11 on",
        shim.display()
    );
    assert_eq!((lost.code, said), (Some(2), expected.as_str()));
    assert!(!home.path("pyenv/shims/python3.ran").exists());
}

#[test]
fn one_that_cannot_be_used_is_passed_over_for_the_next() {
    if !has_system_python() {
        return;
    }
    let home = Home::with_config(&json!({}));
    let script = home.write("bin/python3", "#!/bin/sh\nexit 3\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    home.write("program.py", "print('it ran')");
    let mut command =
        home.onecall_with_config(&["run", "--engine", "cpython", &home.text_path("program.py")]);
    let next = real_python().parent().unwrap().display().to_string();
    fs::create_dir(home.path("next")).unwrap();
    symlink(real_python(), home.path("next/python3")).unwrap();
    command.env("PATH", format!("{}:{}:{next}", home.text_path("bin"), home.text_path("next")));
    assert_eq!(finish(command).stdout, "it ran\n");
}
