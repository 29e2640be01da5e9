//! How long the page takes to answer with very many runs in the store, as a browser waits for it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onecall_core::storage::{ReplayData, RunDetail, RunRecord, RunSummary, StoredCall};
use onecall_core::{RunId, TextSizes, Timestamp, UserName};
use serde_json::json;

use super::page_store;
use crate::rounds::{Contender, Samples, interleave};
use crate::section::{Section, Unit};
use crate::subject::Subject;

/// How many runs the store has, over the last 30 days.
pub const RUNS: u64 = 100_000;

const ROUNDS: usize = 60;

/// The promise: a page is answered within this time, in seconds.
const TARGET: f64 = 0.050;

pub const PROGRAM: &str = "\
import asyncio
names = await mcp__sales__customers(limit=50)
orders = await asyncio.gather(*[mcp__sales__orders(customer=name) for name in names])
print(sum(order['total'] for order in orders))
";

/// The figure of the slowest page when each is read for the first time after the start.
const FIRST_TIME: &str = "the slowest page, read for the first time";

/// How many calls the largest run has.
pub const CALLS: u64 = 10_000;

/// The pages, by the names of their figures.
const PAGES: [(&str, &str); 19] = [
    ("overview of a day", "/page/"),
    ("overview of 30 days", "/page/?period=month"),
    ("runs", "/page/runs"),
    ("runs of a client that failed", "/page/runs?client=cursor&outcome=failed"),
    ("runs that called a tool", "/page/runs?tool=customers"),
    ("runs with a text that none has", "/page/runs?text=nothing+has+this"),
    ("runs that called a tool that none has", "/page/runs?tool=nothing"),
    ("one run", "/page/runs/r00099000"),
    ("a run with 10,000 calls", "/page/runs/large"),
    ("the last calls of it", "/page/runs/large?after=9950"),
    ("one call of it", "/page/runs/large/calls/9000"),
    ("inbox", "/page/inbox"),
    ("servers", "/page/servers"),
    ("tools", "/page/tools"),
    ("users", "/page/users"),
    ("audit", "/page/audit"),
    ("denials in the audit trail", "/page/audit?denied=1"),
    ("a tool in the audit trail that none has", "/page/audit?tool=nothing"),
    ("the audit trail of a run", "/page/audit?run=r00099000"),
];

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let store = fill(&subject.folder.join("page-store"))?;
    let config = json!({
        "store": { "path": store, "keep_days": 365, "max_mb": 10_000 },
        "audit": "hash",
        "approvals": { "ask": ["mcp__sales__*"] },
    });
    let page = ShownPage::start(subject.onecall(&["ui", "--no-open"], "page", &config)?)?;
    let mut section = Section::new("pages, with 100,000 runs in the store");
    let mut slowest = Samples::default();
    let first = PAGES.iter().map(|(_, target)| page.time(target));
    slowest.push(first.collect::<Result<Vec<f64>, _>>()?.into_iter().fold(0.0, f64::max));
    section.add(FIRST_TIME, Unit::Seconds, slowest);
    let contenders = PAGES.iter().map(|(name, target)| Contender::new(name, || page.time(target)));
    section.add_times(interleave(subject.rounds(ROUNDS), contenders.collect())?);
    for name in PAGES.iter().map(|(name, _)| *name).chain([FIRST_TIME]) {
        section.promise_at_most(name, name, TARGET);
    }
    Ok(section)
}

/// Makes a new store in the place of that of an earlier measurement, whose runs are older, and writes the runs.
fn fill(folder: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let path = folder.join("onecall.db");
    let store = onecall_store::open(path.clone());
    let (now, age) = (Timestamp::now(), Duration::from_secs(30 * 86_400));
    let first = now.before(age);
    let step = i64::try_from(age.as_millis()).unwrap_or(0) / i64::try_from(RUNS).unwrap_or(1);
    for number in 0..RUNS {
        let started = Timestamp(first.0 + step * i64::try_from(number).unwrap_or(0));
        store.put_run(&record(number, started)).map_err(|error| error.to_string())?;
    }
    store.put_run(&large_record(now)).map_err(|error| error.to_string())?;
    page_store::add_audit_rows(&path, now)?;
    page_store::add_questions(&path, now)?;
    page_store::add_users(&path, now)?;
    Ok(path)
}

/// A run with very many calls, whose arguments and answers are recorded.
fn large_record(started: Timestamp) -> RunRecord {
    let full = |index: u64| StoredCall {
        arguments: Some(format!("{{\"customer\":\"{index}\"}}")),
        result: Some(("json".to_owned(), format!("{{\"total\":{index}}}"))),
        ..call(index, index)
    };
    let record = record(1, started);
    let run = RunSummary {
        id: RunId::from_existing("large"),
        call_count: CALLS,
        duration: Duration::from_secs(11),
        detail: RunDetail::Full,
        ..record.run
    };
    RunRecord { run, calls: (0..CALLS).map(full).collect(), ..record }
}

/// The tool of the call with this index.
pub fn tool(index: u64) -> String {
    format!("mcp__sales__{}", if index == 0 { "customers" } else { "orders" })
}

fn call(number: u64, index: u64) -> StoredCall {
    StoredCall {
        name: tool(index),
        server: "sales".to_owned(),
        arguments_hash: String::new(),
        arguments_bytes: 20,
        result_bytes: 800,
        started: Duration::from_millis(index),
        duration: Some(Duration::from_micros(900 + number % 5_000)),
        error: None,
        denied_by: None,
        cached: false,
        arguments: None,
        result: None,
        counted_tokens: None,
    }
}

fn record(number: u64, started: Timestamp) -> RunRecord {
    let failed = number.is_multiple_of(10);
    RunRecord {
        run: RunSummary {
            id: RunId::from_existing(format!("r{number:08}")),
            started,
            user: UserName::local(),
            client: if number.is_multiple_of(3) { "cursor" } else { "claude-code" }.to_owned(),
            kind: "program".to_owned(),
            language: "python".to_owned(),
            engine: "python".to_owned(),
            session: None,
            program_hash: format!("{number:064}"),
            outcome: if failed { "raised" } else { "ok" }.to_owned(),
            error: failed.then(|| ("ValueError".to_owned(), "no".to_owned())),
            duration: Duration::from_micros(20_000 + number % 90_000),
            output_bytes: 12,
            output_truncated: false,
            call_count: 5,
            failed_calls: 0,
            cached_calls: 0,
            sizes: Some(TextSizes { direct: 9_000, onecall: 900 }),
            counted_tokens: None,
            detail: RunDetail::Metadata,
        },
        program: PROGRAM.to_owned(),
        argv: Vec::new(),
        tools: None,
        error_line: failed.then_some(4),
        output: None,
        pictures: Vec::new(),
        calls: (0..5).map(|index| call(number, index)).collect(),
        replay: ReplayData::None,
    }
}

/// A running `onecall ui` with a session.
struct ShownPage {
    child: Child,
    address: SocketAddr,
    cookie: String,
}

impl ShownPage {
    fn start(mut command: Command) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the page cannot be started: {error}");
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
        }
        let parts = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let found = parts.and_then(|(host, target)| Some((host.parse().ok()?, target)));
        let (address, target) = found.ok_or_else(|| format!("the page has no address: {line}"))?;
        let mut page = Self { child, address, cookie: String::new() };
        let answer = page.request(&format!("/{target}"))?;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        page.cookie = cookie.and_then(|it| it.split(';').next()).unwrap_or_default().to_owned();
        Ok(page)
    }

    /// How long it takes to read a page to its end, in seconds.
    fn time(&self, target: &str) -> Result<f64, String> {
        let started = Instant::now();
        self.read(target)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Reads a page to its end.
    fn read(&self, target: &str) -> Result<(), String> {
        let answer = self.request(target)?;
        match answer.starts_with("HTTP/1.1 200") {
            true => Ok(()),
            false => Err(format!("{target}: {}", answer.lines().next().unwrap_or_default())),
        }
    }

    fn request(&self, target: &str) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("{target}: {error}");
        let mut stream = TcpStream::connect(self.address).map_err(failed)?;
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            self.address, self.cookie
        );
        stream.write_all(head.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(failed)?;
        Ok(answer)
    }
}

impl Drop for ShownPage {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
