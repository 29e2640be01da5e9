//! `onecall demo`: runs a typical program on built-in data, and shows what it saves.

mod data;
mod savings;
mod server;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use onecall_config::{
    Config, LoadedConfig, LogFiles, OutputTypeSource, PerUserSettings, RecordLevel, ServerConfig,
    StdioTransport, Transport,
};
use onecall_core::{Outcome, Program, ServerName};
use onecall_runtime::report;

use self::savings::{CallCollector, KnownSize, Traffic};
use crate::setup;

const PROGRAM: &str = include_str!("program.py");

/// The size of the definitions of the demo's tools, nine calls and their results.
const DIRECT: KnownSize = KnownSize { bytes: 181_893, tokens: 54_671 };

/// The size of the definitions of onecall's tools, the program and its answer.
const ONECALL: KnownSize = KnownSize { bytes: 3_883, tokens: 1_007 };

/// Runs a program with the demo server and compares it with direct calls.
pub(crate) fn demo() -> anyhow::Result<ExitCode> {
    let collector = CallCollector::default();
    let servers = vec![demo_server()?];
    // The demo must not use or change anything of the user.
    let (records, logs, output_types) =
        (RecordLevel::Off, LogFiles::Off, OutputTypeSource::Declared);
    let config = Config { servers, records, logs, output_types, ..Config::default() };
    let runtime = setup::tokio_runtime()?;
    let outcome = runtime.block_on(async {
        let gateway = setup::gateway(LoadedConfig { config, ..LoadedConfig::default() })?;
        let outcome = gateway.run(&Program::new(PROGRAM), &collector).await;
        gateway.shutdown().await;
        anyhow::Ok(outcome)
    })?;
    let succeeded = outcome.result.is_ok();
    std::io::stdout().write_all(demo_text(&outcome, &collector)?.as_bytes())?;
    Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the MCP server of the demo.
pub(crate) fn serve() -> anyhow::Result<ExitCode> {
    setup::tokio_runtime()?.block_on(server::serve())?;
    Ok(ExitCode::SUCCESS)
}

fn demo_server() -> anyhow::Result<ServerConfig> {
    let transport = StdioTransport {
        command: setup::this_executable()?.display().to_string(),
        args: vec!["demo-server".to_owned()],
        env: BTreeMap::new(),
        cwd: None,
    };
    Ok(ServerConfig {
        name: ServerName::new("demo"),
        transport: Transport::Stdio(transport),
        connect_timeout: None,
        call_timeout: None,
        lazy: false,
        pins: None,
        per_user: PerUserSettings::default(),
    })
}

fn demo_text(outcome: &Outcome, collector: &CallCollector) -> anyhow::Result<String> {
    let answer = report(outcome);
    let mut direct = vec![serde_json::to_string(&server::definitions())?];
    direct.extend(collector.texts());
    let calls = (direct.len() as u64 - 1) / 2;
    let ours = [
        serde_json::to_string(&onecall_server::definitions(
            None,
            &[],
            onecall_server::Approvals::Off,
        ))?,
        PROGRAM.to_owned(),
        answer.clone(),
    ];
    let direct = Traffic::of(calls, &direct, &DIRECT);
    let ours = Traffic::of(1, &ours, &ONECALL);
    let is_counted = direct.is_counted && ours.is_counted;
    let tokens = if is_counted { "tokens (o200k)" } else { "tokens (estimated)" };
    let row = |what: &str, direct: u64, ours: u64| {
        let saved = match direct {
            0 => 0.0,
            direct => 100.0 * (1.0 - ours as f64 / direct as f64),
        };
        format!("{what:32}{direct:>14}{ours:>14}{saved:>9.1}%\n")
    };
    Ok([
        "An agent compares the revenue trends of three companies with one program:\n\n".to_owned(),
        indent(PROGRAM),
        format!("\nWhat comes back to the model ({:.2}s):\n\n", outcome.duration.as_secs_f64()),
        indent(&answer),
        format!("\n{:32}{:>14}{:>14}{:>10}\n", "Through the model", "direct calls", "onecall", "saved"),
        row("tool calls", direct.round_trips, ours.round_trips),
        row("bytes", direct.bytes, ours.bytes),
        row(tokens, direct.tokens, ours.tokens),
        "\nCounted once each: tool definitions, calls with arguments, results; for onecall its own\n\
         definitions, the program and its output. Next: `onecall serve --help`.\n"
            .to_owned(),
    ]
    .concat())
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}
