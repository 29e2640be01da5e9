//! A bare MCP server on stdio in plain std Rust: the honest tools that programs
//! and benchmarks call, and flags that make it hostile. Fast tools are answered
//! by the reading thread with one write each; slow ones by the `clock`.

mod answer;
mod catalog;
mod clock;
mod company;
mod options;
mod stubborn;
mod tools;
mod wire;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

pub use options::Options;
pub use stubborn::GRANDCHILD_OF;

use catalog::Catalog;
use clock::Clock;
use serde_json::json;
use tools::Tools;
use wire::{Output, Params, Reply, Request};

/// The revisions this server echoes back when a client asks for them.
const PROTOCOLS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

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
    if let Err(error) = serve(&options) {
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
    let log = match &options.log {
        Some(path) => Some(File::options().create(true).append(true).open(path)?),
        None => None,
    };
    let output = Arc::new(Output::new(options.garbage)?);
    let clock = Clock::new(Arc::clone(&output));
    let server = Server {
        options,
        catalog: Catalog::new(options.dummy_tools),
        tools: Tools::new(options.dummy_tools),
        clock,
    };

    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut stdin = BufReader::with_capacity(64 * 1024, stdin);
    let mut line = Vec::with_capacity(4096);
    while stdin.read_until(b'\n', &mut line)? > 0 {
        if let Some(mut log) = log.as_ref() {
            log.write_all(&line)?;
        }
        match serde_json::from_slice::<Request>(&line) {
            Ok(request) => match request.id {
                Some(id) => output.answer(id.get(), &server.answer(id.get(), &request)),
                None => server.notice(&request),
            },
            Err(error) => output.answer("null", &Reply::Error(-32700, error.to_string())),
        }
        line.clear();
    }
    Ok(())
}

struct Server<'a> {
    options: &'a Options,
    catalog: Catalog,
    tools: Tools,
    clock: Clock,
}

impl Server<'_> {
    fn answer(&self, id: &str, request: &Request) -> Reply {
        match request.method.as_ref() {
            "tools/call" => self.tools.call(id, &request.params, &self.clock),
            "tools/list" => {
                self.catalog.page(request.params.cursor.as_deref(), self.options.page_size)
            }
            "initialize" => self.initialize(&request.params),
            "ping" => Reply::Result("{}".to_owned()),
            // A response to a request that this server never makes.
            "" => Reply::Silence,
            method => Reply::Error(-32601, format!("method not found: {method}")),
        }
    }

    fn notice(&self, notification: &Request) {
        if notification.method == "notifications/cancelled"
            && let Some(id) = notification.params.request_id
        {
            self.clock.cancel(id.get());
        }
    }

    fn initialize(&self, params: &Params) -> Reply {
        if self.options.hang_on_init {
            return Reply::Silence;
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
                "capabilities": { "tools": { "listChanged": false } },
                "serverInfo": { "name": name, "title": "Fixture", "version": "1.0.0" },
                "instructions": "Tools of a small company, and tools that misbehave on purpose.",
            })
            .to_string(),
        )
    }
}
