//! Programs answer what a plain in-process server answers to them, or something better with a
//! reason; see `tests/side-by-side`.

#![expect(clippy::print_stderr, reason = "what is skipped is to be seen")]

mod comparison;
mod programs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use comparison::{Answers, compared, complaint, stored};
use programs::{Program, Theme, path, read_json, themes};
use testkit::process::wait_until;

use crate::support::{Gateway, TIMEOUT, has_system_python};

/// Fewer programs than this prove little, or were not found.
const LEAST: usize = 500;

/// Where `cargo xtask` has installed the SDK that the server of the programs is written with.
const SDK: &str = "ONECALL_INTEROP_SDK_1";

/// Four servers start at once here, on a machine that has other things to do.
const CONNECT: Duration = Duration::from_secs(90);

/// The limits of themes that have none of their own in `limits.json`.
const USUAL: &str = "usual";

/// A theme and the name of a program.
type Key = (String, String);

/// If set, onecall's answers to programs with a reason are stored instead of compared.
const STORE: &str = "ONECALL_SIDE_BY_SIDE_STORE";

#[test]
fn programs_answer_what_an_in_process_server_answers_or_better() {
    let Some(sdk) = std::env::var_os(SDK) else {
        eprintln!("skipped: {SDK} is not set; `cargo xtask side-by-side` installs what it names");
        return;
    };
    let python = Path::new(&sdk).join("bin/python");
    let mut themes = themes();
    let count: usize = themes.iter().map(|theme| theme.programs.len()).sum();
    assert!(count >= LEAST, "only {count} programs in {}", path("programs").display());

    // The embedded Python, but for programs that import what only the system's has.
    let mut engines = vec!["auto"];
    engines.extend(has_system_python().then_some("cpython"));
    let Value::Object(limits) = read_json("limits.json") else { panic!("limits by theme") };
    let answers = Mutex::new(BTreeMap::<Key, Answers>::new());
    thread::scope(|scope| {
        for engine in &engines {
            for name in limits.keys() {
                let has_these = |theme: &&Theme| match limits.contains_key(&theme.name) {
                    true => theme.name == *name,
                    false => name == USUAL,
                };
                let themes: Vec<&Theme> = themes.iter().filter(has_these).collect();
                let (answers, python, limits) = (&answers, &python, &limits);
                scope.spawn(move || {
                    let mut gateway = start(python, &limits[name]);
                    for theme in themes {
                        for program in &theme.programs {
                            let answer = compared(&answered(&mut gateway, engine, program));
                            let key = (theme.name.clone(), program.name.clone());
                            answers.lock().unwrap().entry(key).or_default().insert(engine, answer);
                        }
                    }
                });
            }
        }
    });
    let answers = answers.into_inner().unwrap();

    let mut complaints = Vec::new();
    for theme in &mut themes {
        for program in &theme.programs {
            let answers = &answers[&(theme.name.clone(), program.name.clone())];
            let entry = &mut theme.answers[&program.name];
            if std::env::var_os(STORE).is_some() {
                match program.better.is_some() {
                    true => entry["onecall"] = stored(answers),
                    false => drop(entry.as_object_mut().and_then(|entry| entry.remove("onecall"))),
                }
            }
            let found = complaint(program, entry, answers);
            complaints.extend(found.map(|it| format!("{}/{}: {it}", theme.name, program.name)));
        }
        if std::env::var_os(STORE).is_some() {
            theme.store();
        }
    }
    let (wrong, all) = (complaints.len(), complaints.join("\n"));
    assert!(complaints.is_empty(), "{wrong} of {count} programs:\n{all}");
}

/// What a program answers. The SDK's server may end when a call is cancelled that it is just
/// answering; then the program runs again once the server is back.
fn answered(gateway: &mut Gateway, engine: &str, program: &Program) -> String {
    let mut answer = run(gateway, engine, program);
    let is_down = |answer: &str| {
        ["has exited", "is not running"]
            .iter()
            .any(|it| answer.contains(&format!("server 'kit' {it}")))
    };
    let back = wait_until(TIMEOUT, || {
        if is_down(&answer) {
            answer = run(gateway, engine, program);
        }
        !is_down(&answer)
    });
    assert!(back, "{answer}");
    answer
}

/// A gateway with the server of the programs and these limits.
fn start(python: &Path, limits: &Value) -> Gateway {
    let server = json!({
        "name": "kit",
        "command": python,
        "args": [path("server.py")],
        "connect_timeout_seconds": CONNECT.as_secs(),
    });
    let mut gateway = Gateway::with_config(&json!({
        "servers": [server],
        "tools": { "block": ["mcp__kit__delete_everything"] },
        "execution": limits,
    }));
    // A program would wait for the server in its own time.
    assert!(wait_until(CONNECT, || !gateway.callable_tools().is_empty()), "the server starts");
    gateway
}

/// The text of onecall's answer to a program.
fn run(gateway: &mut Gateway, engine: &str, program: &Program) -> String {
    let arguments = json!({ "code": program.code, "engine": engine });
    gateway.session.call_tool("execute_program", arguments).text
}
