//! A gateway with something to lose, and what must be true of it after an attack.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp::{CallId, Session, ToolAnswer};
use testkit::process::{Process, descendants, unique_mark, wait_until};

use super::TYPESCRIPT;
use super::case::{Case, Cell, attempt};
use super::expectation::{Errors, difference, shown};
use super::lures::Lures;
use super::place::Place;
use crate::support::traces::{Traces, is_zygote};
use crate::support::{Gateway, Home, PATIENCE};

const MEBIBYTE: u64 = 1024 * 1024;

/// What a program may cost the gateway, while it runs and afterwards: the allocator
/// keeps what it once had.
const MOST_MEMORY_MB: u64 = 32;

/// How much later than its limit a program may end, on a machine that is busy.
const LATE: Duration = Duration::from_secs(20);

/// A program that any gateway can run.
const LIFE_SIGN: &str = "print('hello', await mcp__fixture__echo(value='there'))";

/// The same in TypeScript.
const TYPESCRIPT_LIFE_SIGN: &str =
    "console.log('hello', await mcp__fixture__echo({ value: 'there' }))";

/// One gateway under attack.
pub struct Target {
    config: Value,
    may_use_mb: u64,
    engine: String,
    errors: Errors,
    gateway: Gateway,
    lures: Lures,
    mark: String,
    /// Of the gateway's environment, a file, a server and a program beside the hostile one.
    secrets: [String; 4],
    memory: u64,
    before: Traces,
}

impl Target {
    /// Starts a gateway as a case wants it, plants secrets around it and waits until it
    /// is at rest.
    pub fn new(engine: &str, case: &Case, place: &Place) -> Self {
        let mark = unique_mark();
        let secret = |place: &str| format!("secret-of-{place}-{mark}");
        let secrets = ["environment", "file", "server", "neighbour"].map(secret);
        let [of_environment, of_file, of_server, _] = &secrets;
        let home = Home::new();
        home.write("home/.ssh/id_ed25519", of_file);
        fs::create_dir(home.path("probe")).expect("a folder");
        let mut whole = place.config(engine);
        whole["servers"][0]["env"] = json!({ "SERVER_SECRET": of_server });
        for (key, value) in case.config.as_object().into_iter().flatten() {
            if !value.is_null() {
                whole[key] = value.clone();
            }
        }
        home.write("config.json", whole.to_string());
        let lures = Lures::new(&home.path("probe/socket"), &mark);
        let mut command = home.configured(&["serve"]);
        command.env("GATEWAY_SECRET", of_environment);
        let command = place.around(&home, command);
        let mut gateway = Gateway { session: Session::open(command), home };
        gateway.session.client().set_timeout(PATIENCE);
        let before = Traces::read(gateway.pid(), &[], &mark);
        let mut target = Self {
            config: case.config.clone(),
            may_use_mb: case.gateway_may_use_mb.unwrap_or(MOST_MEMORY_MB),
            engine: engine.to_owned(),
            errors: place.errors(),
            gateway,
            lures,
            mark,
            secrets,
            memory: 0,
            before,
        };
        if engine == TYPESCRIPT {
            // The zygote that starts with the gateway has to be at rest too.
            let arguments = json!({ "code": LIFE_SIGN });
            target.gateway.session.call_tool("execute_program", arguments);
        }
        assert_eq!(target.life_sign(), None);
        target.before = Traces::at_rest(|| target.traces());
        target.memory = target.gateway_process().resident_bytes().expect("it runs");
        target
    }

    /// Whether it is as this case wants it.
    pub fn fits(&self, case: &Case) -> bool {
        let may_use_mb = case.gateway_may_use_mb.unwrap_or(MOST_MEMORY_MB);
        self.config == case.config && self.may_use_mb == may_use_mb
    }

    /// Runs a hostile program; returns everything that is not as it has to be.
    pub fn withstand(&mut self, cell: &Cell, show: bool) -> Vec<String> {
        let code = self.fill_in(&cell.code);
        self.forget_peak();
        let begun = Instant::now();
        let neighbour = self.start(&self.neighbour());
        let hostile = self.start(&code);
        let Some(answer) = self.finish(hostile) else {
            return vec![format!("no answer after {:?}", begun.elapsed())];
        };
        let took = begun.elapsed();
        if show {
            eprintln!("== {} on {}, {took:.1?}\n{}", cell.id, self.engine, shown(&answer.text));
        }
        let mut problems: Vec<String> =
            difference(&cell.answer, &answer, self.errors).into_iter().collect();
        let is_told = |secret: &&String| answer.raw.to_string().contains(*secret);
        problems.extend(self.secrets.iter().find(is_told).map(|secret| format!("told: {secret}")));
        if took > self.time_limit() + LATE {
            problems.push(format!("it took {took:?}"));
        }
        problems.extend(self.harm_to(neighbour));
        problems.extend(self.life_sign());
        problems.extend(self.left_behind());
        problems.extend(self.memory_used());
        problems.extend(self.lures.reached().iter().map(|lure| format!("reached: {lure}")));
        problems
    }

    fn time_limit(&self) -> Duration {
        let seconds = self.config["execution"]["timeout_seconds"].as_u64();
        Duration::from_secs(seconds.unwrap_or(120))
    }

    fn start(&mut self, code: &str) -> CallId {
        let language = if self.engine == TYPESCRIPT { TYPESCRIPT } else { "python" };
        let arguments = json!({ "code": code, "language": language });
        self.gateway.session.start_call("execute_program", arguments)
    }

    fn finish(&mut self, program: CallId) -> Option<ToolAnswer> {
        let limit = self.time_limit() + LATE + PATIENCE;
        let answer = self.gateway.session.finish_call_within(program, limit)?;
        Some(answer.expect("a program is answered by a result"))
    }

    /// A program that runs beside the hostile one.
    fn neighbour(&self) -> String {
        let [.., secret] = &self.secrets;
        match self.engine.as_str() {
            TYPESCRIPT => format!("const secret = '{secret}';\n{TYPESCRIPT_LIFE_SIGN}"),
            _ => format!("secret = '{secret}'\n{LIFE_SIGN}"),
        }
    }

    /// Tells a program where to aim.
    fn fill_in(&mut self, code: &str) -> String {
        let gateway = self.gateway.pid();
        let family = descendants(gateway);
        let zygote = family.iter().find(|process| is_zygote(process, gateway));
        let path = |name: &str| self.gateway.home.text_path(name);
        let mut places = vec![
            ("attempt", attempt()),
            ("gateway_pid", gateway.to_string()),
            ("zygote_pid", zygote.expect("it has run a program").pid.to_string()),
            ("secret_file", path("home/.ssh/id_ed25519")),
            ("config_file", path("config.json")),
            ("probe", path("probe")),
            ("unix_socket", path("probe/socket")),
            ("mark", self.mark.clone()),
        ];
        // A program whose text names /tmp has a folder of its own there, and would miss the target.
        for (_, value) in &mut places {
            *value = value.replace("/tmp", "/\\x74mp");
        }
        places.extend(self.lures.ports().map(|(name, port)| (name, port.to_string())));
        let fill = |code: String, (name, value): &(&str, String)| {
            code.replace(&format!("{{{{{name}}}}}"), value)
        };
        places.iter().fold(code.to_owned(), fill)
    }

    /// What is wrong with a program that only prints and calls a tool.
    fn life_sign(&mut self) -> Option<String> {
        let program = self.start(match self.engine.as_str() {
            TYPESCRIPT => TYPESCRIPT_LIFE_SIGN,
            _ => LIFE_SIGN,
        });
        self.harm_to(program)
    }

    fn harm_to(&mut self, program: CallId) -> Option<String> {
        match self.finish(program) {
            Some(answer) if answer.text == "[Script executed successfully]\nhello there\n" => None,
            Some(answer) => Some(format!("another program got:\n{}", answer.text)),
            None => Some("another program got no answer".to_owned()),
        }
    }

    fn traces(&mut self) -> Traces {
        let folders = ["work", "home", "probe"].map(|name| self.gateway.home.path(name));
        let folders: Vec<_> = folders.iter().map(PathBuf::as_path).collect();
        Traces::read(self.gateway.pid(), &folders, &self.mark)
    }

    fn left_behind(&mut self) -> Option<String> {
        let mut now = self.traces();
        wait_until(PATIENCE, || {
            now = self.traces();
            now == self.before
        });
        (now != self.before).then(|| format!("left behind:\n{}", now.difference(&self.before)))
    }

    fn gateway_process(&mut self) -> Process {
        Process::read(self.gateway.pid()).expect("the gateway lives")
    }

    /// Has the kernel count the most memory from now on. Only root may ask for that, since the
    /// gateway is closed to other processes of its user; without it, the most memory since the
    /// gateway started counts.
    fn forget_peak(&mut self) {
        let counter = format!("/proc/{}/clear_refs", self.gateway.pid());
        _ = fs::write(counter, "5");
    }

    /// What is wrong with the gateway's memory. What was used since it started counts,
    /// so that a little more with every program shows in the end.
    fn memory_used(&mut self) -> Option<String> {
        let process = self.gateway_process();
        let peak = process.peak_bytes().expect("it lives").saturating_sub(self.memory) / MEBIBYTE;
        (peak > self.may_use_mb).then(|| format!("the gateway used {peak} MB more"))
    }
}

#[test]
fn what_is_left_behind_is_noticed() {
    // With all the time that a program has by default: it goes on until it was found.
    let first = super::case::cases("python", &Place::Machine)[0].clone();
    let case = Case { config: json!({}), ..first };
    let mut target = Target::new("python", &case, &Place::Machine);
    let (gateway, mark) = (target.gateway.pid(), target.mark.clone());
    let now = target.traces();
    assert_eq!(now.difference(&target.before), "");
    target.gateway.home.write("probe/new", "x");
    target.gateway.home.write("home/.ssh/id_ed25519", "changed");
    let shared = format!("/dev/shm/{mark}");
    fs::write(&shared, "x").expect("a shared file");
    let _busy = target.start("while True: pass");
    target.gateway.busy_worker();
    // The worker that is spared in its place comes a moment later.
    let mut found = String::new();
    wait_until(PATIENCE, || {
        found = target.traces().difference(&target.before);
        found.contains("zygote")
    });
    fs::remove_file(shared).expect("it is there");
    for trace in ["/probe/new", "/.ssh/id_ed25519", &mark, "new: (\"gateway\", ", "zygote"] {
        assert!(found.contains(trace), "{gateway}: no {trace} in {found}");
    }
}
