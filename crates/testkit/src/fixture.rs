//! A minimal MCP server on stdio or HTTP in plain std Rust: the regular tools that programs and
//! benchmarks call, and flags that make it hostile. Fast tools are answered by the reading thread
//! with one write each; slow ones by the `scheduler`.

mod answer;
mod catalog;
mod changes;
mod company;
mod effects;
mod http;
mod json_rpc;
mod options;
mod pause;
mod scheduler;
mod script;
mod stubborn;
mod tools;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

pub use options::{Options, ServerKind};
pub use stubborn::GRANDCHILD_OF;

pub(crate) use company::scatter;
pub(crate) use http::message as http_message;

use catalog::Catalog;
use changes::{CHANGED, Changes};
use effects::Effects;
use json_rpc::{Output, Params, Reply, Request, Stdout};
use pause::Pause;
use scheduler::Scheduler;
use serde_json::json;
use tools::Tools;

/// The protocol versions that this server accepts in the handshake.
const PROTOCOLS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The protocol version without a handshake.
const STATELESS: &str = "2026-07-28";

/// Runs the server until stdin closes.
pub fn run(options: Options) -> ExitCode {
    for line in &options.stderr_lines {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    if let Some(code) = options.exit_on_start {
        return ExitCode::from(code);
    }
    if options.ignore_eof && !options.sigterm_ignored {
        stubborn::restart_without_sigterm();
    }
    if options.spawn_grandchild {
        stubborn::spawn_grandchild(options.name.as_deref().unwrap_or_default());
    }
    let served = match (options.http, &options.script) {
        (Some(address), _) => http::serve(&options, address),
        (None, Some(script)) => open_log(&options).and_then(|log| script::serve(script, log)),
        (None, None) => serve(&options),
    };
    if let Err(error) = served {
        let _ = writeln!(std::io::stderr(), "fixture-server: {error}");
        return ExitCode::FAILURE;
    }
    if options.ignore_eof {
        loop {
            thread::park();
        }
    }
    ExitCode::SUCCESS
}

fn serve(options: &Options) -> std::io::Result<()> {
    let log = open_log(options)?;
    let output: Arc<dyn Output> = Arc::new(Stdout::new(options.garbage)?);
    let server = Server::new(options, Arc::clone(&output));
    if options.kind != ServerKind::Stateless {
        server.send_changes(Arc::clone(&output), "", CHANGED.to_owned());
    }

    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut stdin = BufReader::with_capacity(64 * 1024, stdin);
    let mut line = Vec::with_capacity(4096);
    while stdin.read_until(b'\n', &mut line)? > 0 {
        if let Some(mut log) = log.as_ref() {
            log.write_all(&line)?;
        }
        match serde_json::from_slice::<Request>(&line) {
            Ok(request) => match request.id {
                Some(id) if request.method == "subscriptions/listen" => {
                    server.subscribe(id.get(), &output);
                }
                Some(id) => output.answer(id.get(), &server.answer(id.get(), &request)),
                None => server.handle_notification(&request),
            },
            Err(error) => output.answer("null", &Reply::Error(-32700, error.to_string())),
        }
        line.clear();
    }
    Ok(())
}

fn open_log(options: &Options) -> std::io::Result<Option<File>> {
    let open = |path| File::options().create(true).append(true).open(path);
    options.log.as_ref().map(open).transpose()
}

struct Server<'a> {
    options: &'a Options,
    catalog: Arc<Catalog>,
    changes: Arc<Changes>,
    tools: Tools,
    effects: Option<Effects>,
    pause: Option<Pause>,
    scheduler: Scheduler,
}

impl<'a> Server<'a> {
    fn new(options: &'a Options, output: Arc<dyn Output>) -> Self {
        let dummies = options.dummy_tools;
        let (catalog, tools) = (Arc::new(Catalog::new(dummies)), Tools::new(dummies));
        let changes = match &options.tools_file {
            Some(file) => {
                let times = options.storm.unwrap_or(1);
                Changes::follow(file.clone(), times, Arc::clone(&catalog))
            }
            None => Arc::default(),
        };
        let effects = options.effects.as_ref().map(|file| {
            catalog.replace(&Effects::definitions());
            Effects::open(file).expect("the file of effects can be written")
        });
        if let Some(variable) = &options.described_by {
            let value = std::env::var(variable).unwrap_or_default();
            catalog.replace(&tools::described_env(&value));
        }
        let pause = options.pause_at.clone().map(Pause::new);
        let scheduler = Scheduler::new(output);
        Self { options, catalog, changes, tools, effects, pause, scheduler }
    }

    /// Sends `message` for every change, until the listener `key` is removed.
    fn send_changes(&self, output: Arc<dyn Output>, key: &str, message: String) {
        let changes = self.changes.listen(key);
        let (id, brief) = (key.to_owned(), self.options.brief_listening && !key.is_empty());
        thread::spawn(move || {
            for () in changes {
                output.notify(&id, &message);
                if brief {
                    return output.answer(&id, &Reply::Result("{}".to_owned()));
                }
            }
        });
    }

    /// A subscription on stdio, which lasts until it is cancelled.
    fn subscribe(&self, id: &str, output: &Arc<dyn Output>) {
        if self.options.kind != ServerKind::Stateless {
            return output.answer(id, &Reply::Error(-32601, "method not found".to_owned()));
        }
        output.notify(id, &changes::acknowledged(id));
        self.send_changes(Arc::clone(output), id, changes::changed(id));
    }

    fn answer(&self, id: &str, request: &Request) -> Reply {
        match request.method.as_ref() {
            "tools/call" if self.pause.as_ref().is_some_and(Pause::is_here) => Reply::Nothing,
            "tools/call" => {
                let effects = self.effects.as_ref();
                effects
                    .and_then(|effects| effects.call(id, &request.params, &self.scheduler))
                    .unwrap_or_else(|| self.tools.call(id, &request.params, &self.scheduler))
            }
            "tools/list" => {
                self.catalog.page(request.params.cursor.as_deref(), self.options.page_size)
            }
            "initialize" if self.options.kind == ServerKind::Stateless => {
                Reply::Error(-32022, format!("Unsupported protocol version, try {STATELESS}"))
            }
            "initialize" => self.initialize(&request.params),
            "server/discover" if self.options.kind == ServerKind::Stateless => self.discover(),
            "ping" => Reply::Result("{}".to_owned()),
            // A response to a request that this server never makes.
            "" => Reply::Nothing,
            method => Reply::Error(-32601, format!("method not found: {method}")),
        }
    }

    fn handle_notification(&self, notification: &Request) {
        if notification.method == "notifications/cancelled"
            && let Some(id) = notification.params.request_id
        {
            self.scheduler.cancel(id.get());
            self.changes.remove_listener(id.get());
        }
    }

    fn initialize(&self, params: &Params) -> Reply {
        if self.options.hang_on_init {
            return Reply::Nothing;
        }
        thread::sleep(self.options.start_delay);
        let asked = params.protocol_version.as_deref().unwrap_or_default();
        let version = match &self.options.protocol {
            Some(version) => version.as_str(),
            None if PROTOCOLS.contains(&asked) => asked,
            None => PROTOCOLS[0],
        };
        let name = self.options.name.as_deref().unwrap_or("fixture");
        Reply::Result(
            json!({
                "protocolVersion": version,
                "capabilities": { "tools": { "listChanged": self.options.tools_file.is_some() } },
                "serverInfo": { "name": name, "title": "Fixture", "version": "1.0.0" },
                "instructions": "Tools of a small company, and tools that misbehave on purpose.",
            })
            .to_string(),
        )
    }

    fn discover(&self) -> Reply {
        let name = self.options.name.as_deref().unwrap_or("fixture");
        let info = json!({ "name": name, "version": "1.0.0" });
        Reply::Result(
            json!({
                "supportedVersions": [STATELESS],
                "capabilities": { "tools": { "listChanged": true } },
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": { "io.modelcontextprotocol/serverInfo": info },
            })
            .to_string(),
        )
    }
}
