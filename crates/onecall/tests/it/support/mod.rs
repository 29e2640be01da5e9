//! Shared test tools: a temporary home directory for every `onecall` process, and a client that
//! is connected to a gateway like an agent.

pub mod browser;
pub mod container;
pub mod http_gateway;
pub mod installed;
pub mod login;
pub mod raw_http;
pub mod recorded_values;
pub mod resource_usage;
pub mod screen;
pub mod terminal;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::bins;
use testkit::mcp::{CallId, Session, ToolAnswer};
use testkit::process::{Process, descendants, wait_until};

/// How long a test waits for an event: far longer than any takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A worker that has used this much processor time runs a busy program; starting takes far less.
const BUSY_TICKS: u64 = 20;

const SUCCESS: &str = "[Script executed successfully]\n";
const FAILURE: &str = "[Script execution failed]\n";

/// A user's directories, all of them in one temporary folder.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// Creates a home with empty directories in a new temporary folder.
    pub fn new() -> Self {
        Self::in_folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Creates a home with empty directories in this folder.
    pub fn in_folder(folder: TempDir) -> Self {
        let home = Self { folder };
        std::fs::create_dir(home.path("work")).expect("a working directory");
        home
    }

    /// A home with this configuration in `config.json`.
    pub fn with_config(config: &Value) -> Self {
        let home = Self::new();
        home.write("config.json", config.to_string());
        home
    }

    /// A path below the temporary folder; `work` is the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path below the temporary folder as text.
    pub fn text_path(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Writes a file for the fixture server's `--tools-file`, in one step: tools with
    /// these names and descriptions, which take two numbers.
    pub fn write_tools(&self, name: &str, tools: &[(&str, &str)]) -> PathBuf {
        let number = json!({ "type": "number" });
        let schema = json!({ "type": "object", "properties": { "a": number, "b": number } });
        let define = |(name, description): &(&str, &str)| json!({ "name": name, "description": description, "inputSchema": schema });
        let tools: Vec<Value> = tools.iter().map(define).collect();
        let written = self.write(&format!("{name}.new"), json!(tools).to_string());
        std::fs::rename(written, self.path(name)).expect("a file in its place");
        self.path(name)
    }

    /// Every file that onecall keeps in the state directory, however deep.
    pub fn state_files(&self) -> Vec<PathBuf> {
        let (mut files, mut folders) = (Vec::new(), vec![self.path("home/state")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files
    }

    /// Writes another `config.json`, as an editor does that replaces the file.
    pub fn replace_config(&self, config: &Value) {
        let new = self.write("config.json.new", config.to_string());
        std::fs::rename(new, self.path("config.json")).expect("a file in its place");
    }

    /// Changes one setting of `config.json`.
    pub fn set(&self, key: &str, value: &str) {
        let text = std::fs::read_to_string(self.path("config.json")).expect("a configuration");
        let mut config: Value = serde_json::from_str(&text).expect("a configuration in JSON");
        config[key] = value.into();
        self.write("config.json", config.to_string());
    }

    /// `onecall` as this user would start it, without any configuration.
    pub fn onecall(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(bins::onecall());
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_STATE_HOME", self.path("home/state"))
            .current_dir(self.path("work"));
        command
    }

    /// `onecall` with the configuration of this home.
    pub fn onecall_with_config(&self, arguments: &[&str]) -> Command {
        let mut command = self.onecall(arguments);
        command.arg("--config").arg(self.path("config.json"));
        command
    }

    /// Runs a program with `onecall run` and the configuration of this home.
    pub fn run(&self, code: &str) -> CommandResult {
        self.write("program.py", dedent(code));
        finish(self.onecall_with_config(&["run", &self.text_path("program.py")]))
    }
}

/// The exit code and the output of a command.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Everything it wrote to stdout.
    pub stdout: String,
    /// Everything it wrote to stderr.
    pub stderr: String,
}

/// Runs a command to its end, without input.
pub fn finish(mut command: Command) -> CommandResult {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().expect("the command starts");
    CommandResult {
        code: status.code(),
        stdout: String::from_utf8(stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(stderr).expect("stderr is UTF-8"),
    }
}

/// A configuration entry for the fixture server.
pub fn fixture(name: &str, flags: &[&str]) -> Value {
    json!({ "name": name, "command": bins::fixture_server(), "args": flags })
}

/// A configuration entry for a server that does what a script says.
pub fn script(name: &str, script: &Value) -> Value {
    let args = ["--script".to_owned(), script.to_string()];
    json!({ "name": name, "command": bins::fixture_server(), "args": args })
}

/// Makes each call and compares what comes of it.
pub fn check_calls(cases: &[(&str, &str)]) {
    let (calls, expected): (Vec<&str>, Vec<&str>) = cases.iter().copied().unzip();
    assert_eq!(Gateway::new().outcomes(&calls), expected);
}

/// A gateway that an agent is connected to.
pub struct Gateway {
    /// The agent's connection.
    pub session: Session,
    /// The home that the gateway runs in.
    pub home: Home,
}

impl Gateway {
    /// Starts a gateway with one server named `fixture` and defaults for everything else.
    pub fn new() -> Self {
        Self::with_flags(&[])
    }

    /// Starts a gateway whose fixture server has these flags.
    pub fn with_flags(flags: &[&str]) -> Self {
        Self::with_config(&json!({ "servers": [fixture("fixture", flags)] }))
    }

    /// Starts a gateway with a fixture server and these limits for programs.
    pub fn with_limits(execution: &Value) -> Self {
        let servers = json!([fixture("fixture", &[])]);
        Self::with_config(&json!({ "servers": servers, "execution": execution }))
    }

    /// Starts a gateway whose fixture server logs the messages that it receives.
    pub fn with_message_log(execution: &Value) -> (Self, ReceivedMessages) {
        let home = Home::new();
        let log = home.path("received");
        let servers = [fixture("fixture", &["--log", &home.text_path("received")])];
        let config = json!({ "servers": servers, "execution": execution });
        home.write("config.json", config.to_string());
        (Self::in_home(home), ReceivedMessages(log))
    }

    /// Starts a gateway with this configuration.
    pub fn with_config(config: &Value) -> Self {
        Self::in_home(Home::with_config(config))
    }

    /// Starts a gateway with the configuration of a home.
    pub fn in_home(home: Home) -> Self {
        if let Some(engine) = std::env::var_os("ONECALL_TEST_ENGINE") {
            home.set("engine", &engine.to_string_lossy());
        }
        Self { session: Session::open(home.onecall_with_config(&["serve"])), home }
    }

    /// Starts a gateway with the configuration of a home that logs at the level `info`.
    pub fn with_info_log(home: Home) -> Self {
        Self { session: Session::open(home.onecall_with_config(&["serve", "--log", "info"])), home }
    }

    /// Runs a program and returns the answer as it is.
    pub fn execute(&mut self, code: &str) -> ToolAnswer {
        let call = self.start(code);
        self.session.finish_call(call)
    }

    /// Runs a program on an engine.
    pub fn execute_on(&mut self, engine: &str, code: &str) -> ToolAnswer {
        let arguments = json!({ "code": dedent(code), "engine": engine });
        self.session.call_tool("execute_program", arguments)
    }

    /// Runs a program in TypeScript.
    pub fn execute_typescript(&mut self, code: &str) -> ToolAnswer {
        let arguments = json!({ "code": dedent(code), "language": "typescript" });
        self.session.call_tool("execute_program", arguments)
    }

    /// Starts a program.
    pub fn start(&mut self, code: &str) -> CallId {
        self.session.start_call("execute_program", json!({ "code": dedent(code) }))
    }

    /// What a program prints that must succeed; `(no output)` if nothing.
    pub fn prints(&mut self, code: &str) -> String {
        printed(&self.execute(code))
    }

    /// What is said about a program that must fail.
    pub fn fails(&mut self, code: &str) -> String {
        failed(&self.execute(code))
    }

    /// What a program says about each of these calls to the fixture server: the
    /// value's `repr`, or the exception's kind and text.
    pub fn outcomes(&mut self, calls: &[&str]) -> Vec<String> {
        let mut code = String::new();
        for call in calls {
            code += &format!(
                "try:\n    print(repr(await mcp__fixture__{call}))\n\
                 except Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')\n"
            );
        }
        self.prints(&code).lines().map(str::to_owned).collect()
    }

    /// The names in the answer of `list_callable_tools`.
    pub fn callable_tools(&mut self) -> Vec<String> {
        let answer = self.session.call_tool("list_callable_tools", json!({}));
        assert!(!answer.is_error, "{}", answer.text);
        serde_json::from_str(&answer.text).expect("the list is a JSON array of strings")
    }

    /// The id of the gateway's process.
    pub fn pid(&mut self) -> u32 {
        self.session.client().pid()
    }

    /// The process that forks workers, waited for.
    pub fn zygote(&mut self) -> Process {
        let gateway = self.pid();
        let is_zygote = |process: &Process| {
            process.parent == gateway && process.command.contains("python-zygote")
        };
        let mut found = None;
        let mut is_there = || {
            found = descendants(gateway).into_iter().find(is_zygote);
            found.is_some()
        };
        assert!(wait_until(TIMEOUT, &mut is_there), "the gateway has a zygote");
        found.expect("it was found")
    }

    /// The process of a program that is busy now, waited for.
    pub fn busy_worker(&mut self) -> u32 {
        let zygote = self.zygote().pid;
        let mut found = None;
        wait_until(TIMEOUT, || {
            let is_busy =
                |worker: &Process| !worker.is_zombie() && cpu_ticks(worker.pid) >= BUSY_TICKS;
            found = descendants(zygote).into_iter().find(is_busy);
            found.is_some()
        });
        found.expect("a program is running").pid
    }

    /// Waits until the gateway notifies its client that tools have changed.
    pub fn wait_for_tool_change(&mut self) {
        self.session.client().wait_notification("notifications/tools/list_changed");
    }

    /// The number of notifications of changed tools that were not waited for.
    pub fn tool_change_count(&mut self) -> usize {
        let is_tool_change = |note: &&Value| note["method"] == "notifications/tools/list_changed";
        self.session.client().notifications().iter().filter(is_tool_change).count()
    }

    /// Waits until the gateway's log has a line with all these words.
    pub fn wait_for_log(&mut self, words: &[&str]) {
        let client = self.session.client();
        let found = wait_until(TIMEOUT, || {
            client.stderr().lines().any(|line| words.iter().all(|word| line.contains(word)))
        });
        assert!(found, "no line with {words:?} in:\n{}", client.stderr());
    }
}

/// Runs a command in an environment without user namespaces; `None` if this machine cannot create
/// such an environment.
pub fn without_namespaces(home: &Home, run: Command) -> Option<CommandResult> {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]);
    command.arg(run.get_program()).args(run.get_args()).current_dir(home.path("work"));
    let set = |(name, value): (_, Option<_>)| Some((name, value?));
    command.env_clear().envs(run.get_envs().filter_map(set));
    let here = Command::new("unshare").args(["--user", "--map-root-user", "true"]).status();
    here.is_ok_and(|status| status.success()).then(|| finish(command))
}

/// Whether `python3` is one that the engine `cpython` takes.
pub fn has_system_python() -> bool {
    let is_recent = ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"];
    Command::new("python3").args(is_recent).status().is_ok_and(|status| status.success())
}

/// What a process has used of the processor, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // User and system time are the 14th and 15th field of the whole line.
    let times = fields.split_ascii_whitespace().skip(11).take(2);
    times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// The output in a success.
pub fn printed(answer: &ToolAnswer) -> String {
    match answer.text.strip_prefix(SUCCESS) {
        Some(output) if !answer.is_error => output.to_owned(),
        _ => panic!("the program was to succeed: {answer:?}"),
    }
}

/// The reason in a failure.
pub fn failed(answer: &ToolAnswer) -> String {
    match answer.text.strip_prefix(FAILURE) {
        Some(reason) if answer.is_error => reason.to_owned(),
        _ => panic!("the program was to fail: {answer:?}"),
    }
}

/// What a fixture server has been sent: its `--log`.
pub struct ReceivedMessages(PathBuf);

impl ReceivedMessages {
    /// The log at this path.
    pub fn in_file(log: PathBuf) -> Self {
        Self(log)
    }

    /// Message by message, so far.
    pub fn messages(&self) -> Vec<Value> {
        // The last line may be half written.
        self.text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// As it came, so far.
    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// How often a tool has been called so far.
    pub fn calls(&self, tool: &str) -> usize {
        self.messages().iter().filter(|message| message["params"]["name"] == tool).count()
    }

    /// The number of cancellation notifications that the server has received.
    pub fn cancels(&self) -> usize {
        let is_cancel = |message: &&Value| message["method"] == "notifications/cancelled";
        self.messages().iter().filter(is_cancel).count()
    }

    /// Waits for a call of `tool` and returns the request.
    pub fn wait_for_call(&self, tool: &str) -> Value {
        let is_call = |message: &Value| message["params"]["name"] == tool;
        self.wait_for(is_call).unwrap_or_else(|| panic!("'{tool}' was not called: {}", self.text()))
    }

    /// Waits until the server receives the cancellation of this request.
    pub fn wait_for_cancel(&self, request: &Value) {
        let is_cancel = |message: &Value| {
            message["method"] == "notifications/cancelled"
                && message["params"]["requestId"] == request["id"]
        };
        let found = self.wait_for(is_cancel);
        assert!(found.is_some(), "{request} was never cancelled: {}", self.text());
    }

    fn wait_for(&self, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let mut found = None;
        wait_until(TIMEOUT, || {
            found = self.messages().into_iter().find(&is_wanted);
            found.is_some()
        });
        found
    }
}

/// A program written as an indented block: a text that begins with a line break
/// loses it and the indentation of its first line.
pub fn dedent(code: &str) -> String {
    let Some(block) = code.strip_prefix('\n') else { return code.to_owned() };
    let indent = block.len() - block.trim_start_matches(' ').len();
    let strip = |line: &str| line.get(indent..).unwrap_or_default().to_owned();
    block.split('\n').map(strip).collect::<Vec<_>>().join("\n")
}

/// A port that was free a moment ago, for servers that cannot choose one and say which.
pub fn free_port() -> u16 {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket.local_addr().expect("it has an address").port()
}
