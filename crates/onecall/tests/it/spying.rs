//! What a server and the command of a local tool see of the processes beside them when they
//! look through `/proc`. Root may look into every process, so where root runs the tests the
//! gateway runs as an ordinary user.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::json;
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::{Process, descendants, unique_mark, wait_until};

use crate::support::{Gateway, Home, TIMEOUT};

/// Says of every process of its user what of it can be read (`PID NAME`), and where the pattern `$1` is in
/// that (`PID NAME SECRET`).
const SPY: &str = r#"
for process in /proc/[0-9]*; do
    [ -O "$process" ] || continue
    pid=${process#/proc/}
    for name in environ cmdline maps auxv; do
        head -c 1 "$process/$name" > /dev/null 2>&1 && echo "$pid $name"
        grep -q -a -e "$1" "$process/$name" 2> /dev/null && echo "$pid $name SECRET"
    done
    for name in cwd root exe; do
        readlink "$process/$name" > /dev/null 2>&1 && echo "$pid $name"
    done
    (exec 3< "$process/mem") 2> /dev/null && echo "$pid mem"
    ls "$process/fd" > /dev/null 2>&1 && echo "$pid fd"
done
true
"#;

/// What a spy found, by process.
struct Findings(BTreeMap<u32, Vec<String>>);

impl Findings {
    fn read(report: &str) -> Self {
        let mut findings = BTreeMap::<u32, Vec<String>>::new();
        for line in report.lines().filter(|line| !line.is_empty()) {
            let (pid, what) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            findings.entry(pid.parse().unwrap()).or_default().push(what.to_owned());
        }
        Self(findings)
    }

    fn of(&self, process: &Process) -> Vec<&str> {
        self.0.get(&process.pid).into_iter().flatten().map(String::as_str).collect()
    }

    /// The processes that show the secret.
    fn with_secret(&self) -> Vec<u32> {
        let shows = |found: &Vec<String>| found.iter().any(|what| what.ends_with("SECRET"));
        self.0.iter().filter(|(_, found)| shows(found)).map(|(pid, _)| *pid).collect()
    }
}

/// A command as an ordinary user would start it: the one who runs the tests, or `nobody` for root.
/// The home then belongs to that user, with the executables in it.
fn as_ordinary_user(home: &Home, command: &Command) -> Command {
    let program = home.text_path("bin/onecall");
    let mut ordinary = if rustix::process::geteuid().is_root() {
        let folder = home.path("");
        run(Command::new("chown").args(["-R", "65534:65534"]).arg(&folder));
        let mut ordinary = Command::new("setpriv");
        ordinary.args(["--reuid=65534", "--regid=65534", "--clear-groups", &program]);
        ordinary
    } else {
        Command::new(program)
    };
    ordinary.args(command.get_args()).current_dir(home.path("work")).env_clear();
    ordinary.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ordinary
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

#[test]
fn servers_and_commands_see_nothing_of_the_gateway() {
    let (home, secret) = (Home::new(), unique_mark());
    let spy = home.write("spy.sh", SPY).display().to_string();
    // It does not match itself on a command line.
    let pattern = secret.replacen("mark", "[m]ark", 1);
    std::fs::create_dir(home.path("bin")).unwrap();
    run(Command::new("cp").args([bins::onecall(), bins::fixture_server()]).arg(home.path("bin")));
    let server = home.text_path("bin/fixture-server");
    // A server that spies before it serves, another one that has the secret, and a command.
    let script = "sh \"$1\" \"$2\" > \"$3.new\"; mv \"$3.new\" \"$3\"; exec \"$4\"";
    let script = ["-c", script, "sh", &spy, &pattern, &home.text_path("report"), &server];
    let config = json!({
        "servers": [
            { "name": "sly", "command": "sh", "args": script },
            { "name": "owner", "command": server, "env": { "KEY": "${GATEWAY_SECRET}" } },
        ],
        "local_tools": { "look": { "command": ["sh", spy, pattern], "output": "text" } },
    });
    home.write("config.json", config.to_string());
    let mut command = home.onecall_with_config(&["serve"]);
    command.env("GATEWAY_SECRET", &secret);
    let session = Session::open(as_ordinary_user(&home, &command));
    let mut gateway = Gateway { session, home };

    // The gateway itself misses nothing: its programs have their tools, and their /tools.
    let by_command = gateway.prints(
        "
        import os
        seen = await mcp__local__look()
        assert sorted(os.listdir('/tools')) == ['local', 'owner', 'sly'], os.listdir('/tools')
        print(seen)
        ",
    );
    let report = gateway.home.path("report");
    assert!(wait_until(TIMEOUT, || report.exists()));
    let by_server = std::fs::read_to_string(report).unwrap();

    let pid = gateway.pid();
    let children: Vec<_> = descendants(pid).into_iter().filter(|it| it.parent == pid).collect();
    let child = |word: &str| {
        let found = children.iter().find(|it| it.command.contains(word));
        found.unwrap_or_else(|| panic!("no {word} in {children:?}"))
    };
    let gateway = Process::read(pid).unwrap();
    for seen in [&by_server, &by_command] {
        let findings = Findings::read(seen);
        for closed in [&gateway, child("onecall guard")] {
            assert_eq!(findings.of(closed), ["cmdline"], "{closed:?}\n{seen}");
        }
    }
    // The spy is not blind: it can read a process that has nothing to hide, and another server
    // of the same user.
    let findings = Findings::read(&by_command);
    assert!(findings.of(child("python-zygote")).contains(&"environ"), "{by_command}");
    let owners = findings.with_secret();
    let is_owner = |pid: &u32| Process::read(*pid).is_some_and(|it| it.command == server);
    assert!(owners.len() == 1 && owners.iter().all(is_owner), "{owners:?}\n{by_command}");
}
