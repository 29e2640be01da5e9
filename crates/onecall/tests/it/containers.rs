//! onecall in a container: which engines run programs there, what a program learns, what is
//! missing and how that is said, and what is shipped for containers.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::process::Command;

use serde_json::{Value, json};

use crate::support::container::TestContainer;
use crate::support::{CommandResult, Home, finish, has_system_python};

/// Prints what comes of a question.
const ASK: &str = "
import os, socket, threading, time

def ask(what, question):
    try:
        print(what, '->', repr(question()))
    except Exception as error:
        print(what, '->', type(error).__name__)

def answers(look):
    # Where every process gets the same answer, it says nothing.
    found = set()
    for pid in range(1, 65536):
        try:
            found.add(repr(look(pid)))
        except Exception as error:
            found.add(type(error).__name__)
    return sorted(found)
";

/// What a program can try to learn of the machine without opening a file.
const ABOUT_THE_MACHINE: &str = "
ask('the machine', lambda: (os.uname().nodename, os.uname().release, os.uname().version))
ask('its name', socket.gethostname)
ask('its user', lambda: (os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()))
ask('its number', lambda: (os.getpid(), threading.main_thread().native_id))
ask('its parent', os.getppid)
ask('processes by signal', lambda: answers(lambda pid: os.kill(pid, 0)))
ask('processes by group', lambda: answers(os.getpgid))
ask('processes by session', lambda: answers(os.getsid))
ask('processes by clock', lambda: answers(lambda pid: time.clock_gettime((~pid << 3) | 2)))
ask('processes by priority', lambda: answers(lambda pid: os.getpriority(os.PRIO_PROCESS, pid)))
";

/// What any program learns of the machine.
const NOTHING: &str = "\
the machine -> ('onecall', '', '')
its name -> 'onecall'
its user -> (0, 0, 0, 0, [])
its number -> (0, 0)
its parent -> 0
processes by signal -> ['PermissionError']
processes by group -> ['0']
processes by session -> ['0']
processes by clock -> ['PermissionError']
processes by priority -> ['PermissionError']
";

/// What a program can try to learn of files without opening one.
const ABOUT_FILES: &str = "
ask('a file', lambda: os.stat('/etc/passwd').st_mode)
ask('no file', lambda: os.stat('/etc/nothing').st_mode)
ask('a link', lambda: os.readlink('/proc/self/cwd'))
ask('access', lambda: os.access('/etc/passwd', os.F_OK))
ask('/proc', lambda: os.listdir('/proc'))
ask('a process', lambda: os.stat('/proc/1').st_mode)
";

/// Runs a program in a container with `onecall run`.
fn run(container: &TestContainer, config: &Value, program: &str, code: &str) -> CommandResult {
    let home = Home::with_config(config);
    home.write(program, code);
    let command = home.onecall_with_config(&["run", &home.text_path(program)]);
    finish(container.wrap_command(&home, &command))
}

fn python(container: &TestContainer, config: &Value) -> CommandResult {
    run(container, config, "program.py", "print('ran')")
}

#[test]
fn the_embedded_engines_run_in_every_container() {
    for container in TestContainer::all() {
        let ran = python(&container, &json!({ "engine": "python" }));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "ran\n"),
            "{}: {ran:?}",
            container.name
        );
        let ran = run(&container, &json!({}), "program.ts", "console.log('ran')");
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "ran\n"),
            "{}: {ran:?}",
            container.name
        );
    }
}

#[test]
fn cpython_runs_without_what_the_configuration_names_and_no_less() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    for container in TestContainer::all() {
        let refuses = |config: Value, property: &str| {
            let CommandResult { code, stdout, stderr } = python(&container, &config);
            assert_eq!((code, stdout.as_str()), (Some(2), ""), "{}: {stderr}", container.name);
            let is_reason = |line: &&str| line.starts_with("the engine could not start: ");
            let reason = stderr.lines().find(is_reason).expect("a reason");
            assert!(reason.contains(&format!("(`{property}`)")), "{}: {reason}", container.name);
        };
        let runs = |config: Value| {
            let ended = python(&container, &config);
            let ran = (Some(0), "ran\n");
            assert_eq!((ended.code, ended.stdout.as_str()), ran, "{}: {ended:?}", container.name);
        };
        let accepting = json!({ "engine": "cpython", "sandbox_without": ["metadata"] });
        if container.has_landlock() {
            refuses(json!({ "engine": "cpython" }), "metadata");
            runs(accepting);
        } else {
            refuses(json!({ "engine": "cpython" }), "files");
            refuses(accepting, "files");
        }
        runs(json!({ "engine": "cpython", "sandbox": "best-effort" }));
    }
}

#[test]
fn best_effort_opens_no_file_where_no_wall_guards_them() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    let config = json!({ "engine": "cpython", "sandbox": "best-effort" });
    let code = "
try:
    print(open('/etc/passwd').read())
except OSError as error:
    print(type(error).__name__)
";
    let all = TestContainer::all();
    let container = all.iter().find(|container| !container.has_landlock()).expect("one of them");
    let read = run(container, &config, "program.py", code);
    assert_eq!(read.stdout, "PermissionError\n", "{read:?}");
}

#[test]
fn a_program_learns_nothing_of_the_machine() {
    let questions = [ASK, ABOUT_THE_MACHINE, ABOUT_FILES].concat();
    let hidden = "\
a file -> FileNotFoundError
no file -> FileNotFoundError
a link -> FileNotFoundError
access -> False
/proc -> FileNotFoundError
a process -> FileNotFoundError
";
    for container in TestContainer::all() {
        let asked = run(&container, &json!({ "engine": "python" }), "program.py", &questions);
        assert_eq!(asked.stdout, [NOTHING, hidden].concat(), "{}", container.name);
    }
}

#[test]
fn a_program_on_cpython_learns_which_files_exist_and_nothing_else() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    let affinity = "ask('processes by processor', lambda: answers(os.sched_getaffinity))\n";
    let questions = [ASK, ABOUT_THE_MACHINE, affinity, ABOUT_FILES].concat();
    let of_processors = "processes by processor -> ['OSError']\n";
    let of_files = "\
a file -> 33188
no file -> FileNotFoundError
a link -> '/'
access -> True
/proc -> PermissionError
a process -> 16749
";
    let accepting = json!({ "engine": "cpython", "sandbox_without": ["metadata"] });
    for container in TestContainer::all().iter().filter(|container| container.has_landlock()) {
        let asked = run(container, &accepting, "program.py", &questions);
        let learned = [NOTHING, of_processors, of_files].concat();
        assert_eq!(asked.stdout, learned, "{}", container.name);
    }
}

#[test]
fn best_effort_says_what_does_not_hold() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    let container = TestContainer::as_ordinary_user();
    let try_with =
        |sandbox| python(&container, &json!({ "engine": "cpython", "sandbox": sandbox }));
    let accepted = try_with("best-effort");
    assert_eq!((accepted.code, accepted.stdout.as_str()), (Some(0), "ran\n"), "{accepted:?}");
    let warning = "WARN the sandbox does not keep programs from learning which files exist \
                   (`metadata`): its wall `namespaces` is missing: ";
    assert!(accepted.stderr.contains(warning), "{}", accepted.stderr);

    let off = try_with("off");
    assert_eq!((off.code, off.stdout.as_str()), (Some(0), "ran\n"), "{off:?}");
    assert!(!off.stderr.contains("WARN"), "{}", off.stderr);
}

#[test]
fn the_doctor_says_which_wall_holds_what() {
    let home = Home::with_config(&json!({}));
    let ended = finish(
        TestContainer::as_ordinary_user()
            .wrap_command(&home, &home.onecall_with_config(&["doctor"])),
    );
    let held = "✓ metadata     held by system calls (blocked: see /etc/passwd";
    assert!(ended.stdout.contains(held), "{}", ended.stdout);
    if has_system_python() {
        let refused = "! for cpython  its worker died while starting: the sandbox cannot keep programs \
                       from learning which files exist (`metadata`): its wall `empty root` is \
                       missing: it needs namespaces: ";
        assert!(ended.stdout.contains(refused), "{}", ended.stdout);
    }
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

/// What `onecall doctor` says of the sandbox, wall by wall.
fn sandbox(command: Command) -> Vec<(String, String)> {
    let ended = finish(command);
    let report: Value = serde_json::from_str(&ended.stdout).expect("doctor prints JSON");
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = report["sandbox"].as_array().expect("a section for the sandbox");
    assert!(!entries.is_empty());
    entries.iter().map(|entry| (text(entry, "name"), text(entry, "verdict"))).collect()
}

#[test]
fn every_wall_of_the_machine_stands_under_the_shipped_profile() {
    let home = Home::with_config(&json!({}));
    let doctor = || home.onecall_with_config(&["doctor", "--json"]);
    let of_machine = sandbox(doctor());
    for container in TestContainer::with_shipped_profile() {
        let of_container = sandbox(container.wrap_command(&home, &doctor()));
        assert_eq!(of_container, of_machine, "{}", container.name);
    }
}
