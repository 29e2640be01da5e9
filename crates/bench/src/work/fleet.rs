//! Several gateways that share a PostgreSQL database: what a second gateway brings, what the store costs each
//! program, and how much of it a run needs.

use std::cell::RefCell;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use testkit::postgres::PostgresServer;

use crate::rounds::{Contender, Ratio, interleave, timed};
use crate::section::Section;
use crate::server::{Server, on_core};
use crate::subject::Subject;

/// A program as agents write them: it reads a lot and changes a little.
const USUAL: &str = "\
total = 0
for i in range(20):
    total += await mcp__fixture__add(a=i, b=1)
for i in range(2):
    await mcp__counting__effect(id=str(i))
print(total)";
const USUAL_PRINTED: &str = "210";

const READS: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=i, b=1)
print(total)";
const READS_PRINTED: &str = "500500";

/// How many programs run at once on one gateway, or on two together.
const PROGRAMS: u32 = 64;

/// How many runs the sizes are measured with.
const STORED_RUNS: u32 = 200;

const ONE: &str = "64 usual programs at once on one gateway with one core, per program";
const TWO: &str = "64 usual programs at once on two gateways with a core each, per program";
const BARE: &str = "a usual program, nothing stored";
const RECORDED_IN_FILE: &str = "a usual program, recorded in SQLite";
const RECORDED: &str = "a usual program, recorded in PostgreSQL";
const DURABLE_IN_FILE: &str = "a usual program, durable and recorded in SQLite";
const DURABLE: &str = "a usual program, durable and recorded in PostgreSQL";
const READS_RECORDED: &str = "1,000 calls, recorded in PostgreSQL";
const READS_UNRECORDED: &str = "1,000 calls, not recorded";

/// The difference is smaller than that between two runs of the same program, so it takes many rounds.
const READ_ROUNDS: usize = 300;
const ROUNDS: usize = 60;
const CROWD_ROUNDS: usize = 10;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let mut section = Section::new("several gateways and PostgreSQL");
    let Some(server) = PostgresServer::start_safe() else {
        section.note("PostgreSQL is not installed, so nothing is measured.");
        return Ok(section);
    };
    measure_store(subject, &server, &mut section)?;
    measure_records(subject, &server, &mut section)?;
    measure_gateways(subject, &server, &mut section)?;
    for kind in [Stored::Records, Stored::Journals] {
        section.note(stored_sizes(subject, &server, kind)?);
    }
    Ok(section)
}

/// What a gateway stores of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Nothing,
    Records,
    /// Records and journals.
    Journals,
}

/// The command of a gateway with a server to read from and one that has effects.
fn gateway_command(
    subject: &Subject,
    name: &str,
    stored: Stored,
    store: &Value,
) -> Result<Command, String> {
    let effects = subject.folder.join(format!("{name}.effects"));
    let effects = effects.to_string_lossy();
    let config = json!({
        "servers": [
            subject.server("fixture", &[]),
            subject.server("counting", &["--effects", effects.as_ref()]),
        ],
        "durable": stored == Stored::Journals,
        "records": if stored == Stored::Nothing { "off" } else { "metadata" },
        "store": store,
    });
    subject.serve_config(name, config)
}

fn warm_gateway(command: Command) -> Result<Server, String> {
    let mut gateway = Server::start(command)?;
    gateway.run(USUAL, USUAL_PRINTED)?;
    Ok(gateway)
}

/// The time of a program, by what is stored of it and where.
fn measure_store(
    subject: &Subject,
    server: &PostgresServer,
    section: &mut Section,
) -> Result<(), String> {
    let file = |name: &str| json!({ "path": subject.folder.join(format!("{name}.db")) });
    let database = || json!({ "url": server.create_database() });
    let cases = [
        (BARE, "fleet-bare", Stored::Nothing, file("fleet-bare")),
        (RECORDED_IN_FILE, "fleet-file", Stored::Records, file("fleet-file")),
        (RECORDED, "fleet-records", Stored::Records, database()),
        (DURABLE_IN_FILE, "fleet-durable-file", Stored::Journals, file("fleet-durable-file")),
        (DURABLE, "fleet-durable", Stored::Journals, database()),
    ];
    let mut contenders = Vec::new();
    for (title, name, stored, store) in cases {
        let mut gateway = warm_gateway(gateway_command(subject, name, stored, &store)?)?;
        contenders.push(Contender::new(title, move || gateway.run(USUAL, USUAL_PRINTED)));
    }
    section.add_times(interleave(subject.rounds(ROUNDS), contenders)?);
    for name in [RECORDED_IN_FILE, RECORDED, DURABLE_IN_FILE, DURABLE] {
        section.compare(name, BARE);
    }
    section.note("A usual program makes 20 calls that read and two that have effects.");
    Ok(())
}

/// The promise about records in the database.
fn measure_records(
    subject: &Subject,
    server: &PostgresServer,
    section: &mut Section,
) -> Result<(), String> {
    let gateway = |name: &str, stored: Stored| {
        let store = json!({ "url": server.create_database() });
        warm_gateway(gateway_command(subject, name, stored, &store)?)
    };
    let recorded = RefCell::new(gateway("fleet-reads", Stored::Records)?);
    let unrecorded = RefCell::new(gateway("fleet-reads-off", Stored::Nothing)?);
    let contenders = vec![
        Contender::new(READS_RECORDED, || recorded.borrow_mut().run(READS, READS_PRINTED)),
        Contender::new(READS_UNRECORDED, || unrecorded.borrow_mut().run(READS, READS_PRINTED)),
    ];
    section.add_times(interleave(subject.rounds(READ_ROUNDS), contenders)?);
    section.compare(READS_RECORDED, READS_UNRECORDED);
    let ratio = section
        .samples(READS_RECORDED)
        .zip(section.samples(READS_UNRECORDED))
        .map(|(recorded, unrecorded)| Ratio::within_rounds(recorded, unrecorded));
    section.note("What is promised is the median of the ratios within each round.");
    section.promise_ratio(
        "a run with 1,000 calls that is recorded in PostgreSQL against one that is not",
        ratio,
        1.05,
    );
    Ok(())
}

/// What a second gateway brings, if each has one core.
fn measure_gateways(
    subject: &Subject,
    server: &PostgresServer,
    section: &mut Section,
) -> Result<(), String> {
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        section.note("This machine has one core, so gateways are not compared.");
        return Ok(());
    }
    let store = json!({ "url": server.create_database() });
    let gateway = |name: &str, core: &str| {
        let command = gateway_command(subject, name, Stored::Records, &store)?;
        warm_gateway(on_core(&command, core))
    };
    let mut alone = gateway("fleet-one", "0")?;
    let mut two = [gateway("fleet-two-a", "0")?, gateway("fleet-two-b", "1")?];
    let programs = f64::from(PROGRAMS);
    let contenders = vec![
        Contender::new(ONE, || Ok(alone.run_at_once(PROGRAMS, USUAL, USUAL_PRINTED)? / programs)),
        Contender::new(TWO, || {
            let (ended, seconds) = timed(|| run_on_all(&mut two));
            ended.map(|()| seconds / programs)
        }),
    ];
    section.add_times(interleave(subject.rounds(CROWD_ROUNDS), contenders)?);
    section.compare(TWO, ONE);
    Ok(())
}

/// Runs an equal share of the programs on each gateway, at the same time.
fn run_on_all(gateways: &mut [Server; 2]) -> Result<(), String> {
    thread::scope(|scope| {
        let run = |gateway: &mut Server| gateway.run_at_once(PROGRAMS / 2, USUAL, USUAL_PRINTED);
        let [first, second] = gateways;
        let first = scope.spawn(move || run(first));
        run(second)?;
        first.join().map_err(|_| "a gateway has ended".to_owned())?.map(drop)
    })
}

/// The rows, and the bytes with indexes, that a run takes in the database, and what it writes to the log by
/// which the database recovers.
fn stored_sizes(
    subject: &Subject,
    server: &PostgresServer,
    stored: Stored,
) -> Result<String, String> {
    let url = server.create_database();
    let store = json!({ "url": url });
    let name = format!("fleet-sizes-{stored:?}").to_lowercase();
    let number = |query: &str| {
        let text = server.execute(&url, query);
        text.parse::<f64>().map_err(|_| format!("'{query}' gives '{text}'"))
    };
    let mut gateway = warm_gateway(gateway_command(subject, &name, stored, &store)?)?;
    let tables = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'onecall'::regnamespace";
    let log = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn";
    let (bytes_before, log_before) = (number(tables)?, number(log)?);
    gateway.run_in_a_row(STORED_RUNS, USUAL, USUAL_PRINTED)?;
    // The last records are written when the gateway ends.
    drop(gateway);
    let log_bytes = number(log)? - log_before;
    server.execute(&url, "VACUUM");
    let runs = number("SELECT count(*) FROM onecall.runs")?;
    let rows = number(
        "SELECT (SELECT count(*) FROM onecall.runs) + (SELECT count(*) FROM onecall.calls)
           + (SELECT count(*) FROM onecall.durable_runs) + (SELECT count(*) FROM onecall.durable_texts)
           + (SELECT count(*) FROM onecall.journal_events)",
    )?;
    let bytes = number(tables)? - bytes_before;
    let what = if stored == Stored::Journals { "durable and recorded" } else { "recorded" };
    Ok(format!(
        "A usual program that is {what} leaves {:.0} rows and {:.1} kB in PostgreSQL, and writes {:.1} kB to \
         its write-ahead log (the mean of {runs} runs).",
        rows / runs,
        bytes / runs / 1e3,
        log_bytes / runs / 1e3,
    ))
}
