//! A gateway with secrets around it, and the checks after an attack on it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp::{CallId, Session, ToolAnswer};
use testkit::process::{Process, descendants, unique_mark, wait_until};

use super::TYPESCRIPT;
use super::case::{Case, Cell, attempt};
use super::decoy_sockets::DecoySockets;
use super::environment::AttackEnvironment;
use super::expectation::{Errors, difference, shorten};
use crate::support::resource_usage::{ResourceUsage, is_zygote};
use crate::support::{Gateway, Home, TIMEOUT};

const MEBIBYTE: u64 = 1024 * 1024;

/// What a program may cost the gateway, while it runs and afterwards: the allocator
/// keeps what it once had.
const MOST_MEMORY_MB: u64 = 32;

/// How often an ordinary program is tried that exceeds its time limit.
const HEALTH_ATTEMPTS: u32 = 10;

/// How much later than its limit a program may end, on a machine that is busy.
const END_TOLERANCE: Duration = Duration::from_secs(20);

/// A program that any gateway can run.
const HEALTH_CHECK: &str = "print('hello', await mcp__fixture__echo(value='there'))";

/// A program in TypeScript that any gateway can run.
const TYPESCRIPT_HEALTH_CHECK: &str =
    "console.log('hello', await mcp__fixture__echo({ value: 'there' }))";

/// One gateway under attack.
pub struct Target {
    config: Value,
    may_use_mb: u64,
    engine: String,
    errors: Errors,
    gateway: Gateway,
    decoys: DecoySockets,
    mark: String,
    /// Secrets in the gateway's environment, a file, a server and a program beside the hostile one.
    secrets: [String; 4],
    memory: u64,
    before: ResourceUsage,
}

impl Target {
    /// Starts a gateway as a case wants it, plants secrets around it and waits until it
    /// is at rest.
    pub fn new(engine: &str, case: &Case, environment: &AttackEnvironment) -> Self {
        let mark = unique_mark();
        let secret = |owner: &str| format!("secret-of-{owner}-{mark}");
        let secrets = ["environment", "file", "server", "neighbour"].map(secret);
        let [of_environment, of_file, of_server, _] = &secrets;
        let home = Home::new();
        home.write("home/.ssh/id_ed25519", of_file);
        fs::create_dir(home.path("probe")).expect("a folder");
        let mut whole = environment.config(engine);
        whole["servers"][0]["env"] = json!({ "SERVER_SECRET": of_server });
        for (key, value) in case.config.as_object().into_iter().flatten() {
            if !value.is_null() {
                whole[key] = value.clone();
            }
        }
        home.write("config.json", whole.to_string());
        let decoys = DecoySockets::new(&home.path("probe/socket"), &mark);
        let mut command = home.onecall_with_config(&["serve"]);
        command.env("GATEWAY_SECRET", of_environment);
        let command = environment.wrap_command(&home, command);
        let mut gateway = Gateway { session: Session::open(command), home };
        gateway.session.client().set_timeout(TIMEOUT);
        let before = ResourceUsage::read(gateway.pid(), &[], &mark);
        let mut target = Self {
            config: case.config.clone(),
            may_use_mb: case.gateway_may_use_mb.unwrap_or(MOST_MEMORY_MB),
            engine: engine.to_owned(),
            errors: environment.errors(),
            gateway,
            decoys,
            mark,
            secrets,
            memory: 0,
            before,
        };
        if engine == TYPESCRIPT {
            // The zygote that starts with the gateway has to be at rest too.
            let arguments = json!({ "code": HEALTH_CHECK });
            target.gateway.session.call_tool("execute_program", arguments);
        }
        assert_eq!(target.health_problem(), None);
        target.before = ResourceUsage::when_idle(|| target.resource_usage());
        target.memory = target.gateway_process().data_bytes().expect("it runs");
        target
    }

    /// Whether the gateway has the settings of this case.
    pub fn has_settings_of(&self, case: &Case) -> bool {
        let may_use_mb = case.gateway_may_use_mb.unwrap_or(MOST_MEMORY_MB);
        self.config == case.config && self.may_use_mb == may_use_mb
    }

    /// Runs a hostile program; returns every problem that it causes.
    pub fn run_attack(&mut self, cell: &Cell, show: bool) -> Vec<String> {
        let code = self.fill_in(&cell.code);
        self.reset_peak_memory();
        let begun = Instant::now();
        let neighbour = self.start(&self.neighbour());
        let hostile = self.start(&code);
        let Some(answer) = self.finish(hostile) else {
            return vec![format!("no answer after {:?}", begun.elapsed())];
        };
        let took = begun.elapsed();
        if show {
            eprintln!("== {} on {}, {took:.1?}\n{}", cell.id, self.engine, shorten(&answer.text));
        }
        let mut problems: Vec<String> =
            difference(&cell.answer, &answer, self.errors).into_iter().collect();
        let is_revealed = |secret: &&String| answer.raw.to_string().contains(*secret);
        problems
            .extend(self.secrets.iter().find(is_revealed).map(|secret| format!("told: {secret}")));
        if took > self.time_limit() + END_TOLERANCE {
            problems.push(format!("it took {took:?}"));
        }
        problems.extend(self.problem_of(neighbour));
        problems.extend(self.health_problem());
        problems.extend(self.left_behind());
        problems.extend(self.memory_used());
        problems.extend(self.decoys.reached().iter().map(|decoy| format!("reached: {decoy}")));
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
        let limit = self.time_limit() + END_TOLERANCE + TIMEOUT;
        let answer = self.gateway.session.finish_call_within(program, limit)?;
        Some(answer.expect("a program is answered by a result"))
    }

    /// A program that runs beside the hostile one.
    fn neighbour(&self) -> String {
        let [.., secret] = &self.secrets;
        match self.engine.as_str() {
            TYPESCRIPT => format!("const secret = '{secret}';\n{TYPESCRIPT_HEALTH_CHECK}"),
            _ => format!("secret = '{secret}'\n{HEALTH_CHECK}"),
        }
    }

    /// Replaces the placeholders in a program by the paths, ports and process ids of this gateway.
    fn fill_in(&mut self, code: &str) -> String {
        let gateway = self.gateway.pid();
        let processes = descendants(gateway);
        let zygote = processes.iter().find(|process| is_zygote(process, gateway));
        let path = |name: &str| self.gateway.home.text_path(name);
        let mut placeholders = vec![
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
        for (_, value) in &mut placeholders {
            *value = value.replace("/tmp", "/\\x74mp");
        }
        placeholders.extend(self.decoys.ports().map(|(name, port)| (name, port.to_string())));
        let fill = |code: String, (name, value): &(&str, String)| {
            code.replace(&format!("{{{{{name}}}}}"), value)
        };
        placeholders.iter().fold(code.to_owned(), fill)
    }

    /// Runs a program that only prints and calls a tool; returns what is wrong with its answer.
    fn health_problem(&mut self) -> Option<String> {
        let program = self.start_health_check();
        self.problem_of(program)
    }

    fn start_health_check(&mut self) -> CallId {
        self.start(match self.engine.as_str() {
            TYPESCRIPT => TYPESCRIPT_HEALTH_CHECK,
            _ => HEALTH_CHECK,
        })
    }

    /// What is wrong with the answer of a program that only prints and calls a tool. On a busy
    /// machine even that can exceed the short time limit; then it is run again.
    fn problem_of(&mut self, mut program: CallId) -> Option<String> {
        let too_slow = format!(
            "[Script execution failed]\nTimeoutError: Execution exceeded {}s limit",
            self.time_limit().as_secs()
        );
        for _ in 0..HEALTH_ATTEMPTS {
            match self.finish(program) {
                Some(answer) if answer.text == "[Script executed successfully]\nhello there\n" => {
                    return None;
                }
                Some(answer) if answer.text.starts_with(&too_slow) => {
                    program = self.start_health_check();
                }
                Some(answer) => return Some(format!("another program got:\n{}", answer.text)),
                None => return Some("another program got no answer".to_owned()),
            }
        }
        self.finish(program);
        Some(format!("another program was too slow {HEALTH_ATTEMPTS} times"))
    }

    fn resource_usage(&mut self) -> ResourceUsage {
        let folders = ["work", "home", "probe"].map(|name| self.gateway.home.path(name));
        let folders: Vec<_> = folders.iter().map(PathBuf::as_path).collect();
        ResourceUsage::read(self.gateway.pid(), &folders, &self.mark)
    }

    fn left_behind(&mut self) -> Option<String> {
        let mut now = self.resource_usage();
        wait_until(TIMEOUT, || {
            now = self.resource_usage();
            now == self.before
        });
        (now != self.before).then(|| format!("left behind:\n{}", now.difference(&self.before)))
    }

    fn gateway_process(&mut self) -> Process {
        Process::read(self.gateway.pid()).expect("the gateway lives")
    }

    /// Resets the kernel's counter of peak memory. Only root may do that, because the gateway is
    /// protected from other processes of its user; otherwise the peak since its start counts.
    fn reset_peak_memory(&mut self) {
        let counter = format!("/proc/{}/clear_refs", self.gateway.pid());
        _ = fs::write(counter, "5");
    }

    /// What is wrong with the gateway's memory. What was used since it started counts,
    /// so that a little more with every program shows in the end. The code that the gateway
    /// executes does not: it gave that back when it had started.
    fn memory_used(&mut self) -> Option<String> {
        let process = self.gateway_process();
        let peak = process.peak_data_bytes().expect("it lives");
        let peak = peak.saturating_sub(self.memory) / MEBIBYTE;
        (peak > self.may_use_mb).then(|| format!("the gateway used {peak} MB more"))
    }
}

#[test]
fn what_is_left_behind_is_noticed() {
    // With all the time that a program has by default: it goes on until it was found.
    let first = super::case::cases("python", &AttackEnvironment::Machine)[0].clone();
    let case = Case { config: json!({}), ..first };
    let mut target = Target::new("python", &case, &AttackEnvironment::Machine);
    let (gateway, mark) = (target.gateway.pid(), target.mark.clone());
    let now = target.resource_usage();
    assert_eq!(now.difference(&target.before), "");
    target.gateway.home.write("probe/new", "x");
    target.gateway.home.write("home/.ssh/id_ed25519", "changed");
    let shared = format!("/dev/shm/{mark}");
    fs::write(&shared, "x").expect("a shared file");
    let _busy = target.start("while True: pass");
    target.gateway.busy_worker();
    // The worker that is spared in its place comes a moment later.
    let mut found = String::new();
    wait_until(TIMEOUT, || {
        found = target.resource_usage().difference(&target.before);
        found.contains("zygote")
    });
    fs::remove_file(shared).expect("it is there");
    for trace in ["/probe/new", "/.ssh/id_ed25519", &mark, "new: (\"gateway\", ", "zygote"] {
        assert!(found.contains(trace), "{gateway}: no {trace} in {found}");
    }
}
