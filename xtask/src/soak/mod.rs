//! Load and soak test: mixed programs at full speed, while servers crash, clients disconnect and
//! workers are killed; and a report of the results.

mod clients;
mod gateway;
mod http;
mod options;
mod program;
mod report;
mod stats;
mod watch;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testkit::cargo::{self, cargo, output};
use testkit::mcp::Session;
use testkit::process::{self, unique_mark, wait_until};

use clients::ProgramNumbers;
use gateway::{HttpGateway, SoakSetup};
use http::HttpClient;
use options::{HELP, Options};
use report::{GatewayMeasurements, Report};
use stats::RequestStats;
use watch::Measurement;

/// The timeout after which an answer counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of clients over HTTP.
const HTTP_CLIENTS: usize = 3;

/// The number of servers behind each gateway.
const SERVERS: usize = 4;

/// The time between two measurements of the gateways.
const MEASURE_INTERVAL: Duration = Duration::from_millis(200);

/// The time in which everything is used once, on every thread.
const WARM_UP: Duration = Duration::from_secs(20);

/// The number of parts of the run for which latencies are reported.
const PARTS: u32 = 10;

/// The time for remaining processes to end by themselves.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.help {
        eprint!("{HELP}");
        return Ok(());
    }
    if options.build {
        let mut build = cargo("build");
        build.args(["--workspace", "--bins"]);
        if options.release {
            build.arg("--release");
        }
        cargo::run(build)?;
    }
    let built = output(if options.release { "release" } else { "debug" });
    let folder = output("soak");
    let report = soak(&built, &folder, options.time, WARM_UP)?;
    println!("{}", report.to_markdown());
    match report.faults().len() {
        0 => Ok(()),
        count => Err(format!("not all is well: {count} of what is above begins with 'broke'")),
    }
}

/// The two gateways and their clients.
struct SoakRun {
    session: Session,
    http_gateway: HttpGateway,
    numbers: ProgramNumbers,
    /// The counter of the session over stdio.
    counted: u64,
}

/// The results of a phase of load.
struct Phase {
    totals: stats::Totals,
    killed: u64,
    measurements: [Vec<Measurement>; 2],
}

/// Runs the soak test with the binaries in `built`; `folder` is for the files of the gateways.
fn soak(built: &Path, folder: &Path, time: Duration, warm_up: Duration) -> Result<Report, String> {
    let folder = folder.to_owned();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (onecall, fixture) = (built.join("onecall"), built.join("fixture-server"));
    let setup = SoakSetup { onecall, fixture, folder, mark: unique_mark() };
    let http_gateway = HttpGateway::start(&setup)?;
    let session = Session::open(setup.serve("stdio")?);
    let mut run = SoakRun { session, http_gateway, numbers: ProgramNumbers::default(), counted: 0 };
    let pids = [run.session.client().pid(), run.http_gateway.pid()];
    run.load(warm_up);
    let before = pids.map(|pid| Measurement::when_idle(pid, &setup.mark, SERVERS));
    let phase = run.load(time);
    let mut pids_to_watch: Vec<u32> = pids.to_vec();
    let mut gateways = Vec::new();
    for ((pid, measurements), (name, before)) in
        pids.into_iter().zip(phase.measurements).zip(["stdio", "HTTP"].into_iter().zip(before))
    {
        let after = Measurement::when_as_before(pid, &before);
        pids_to_watch.extend(process::descendants(pid).iter().map(|child| child.pid));
        gateways.push(GatewayMeasurements { name, before, after, measurements });
    }
    drop(run);
    let left_behind = wait_for_exit(&setup.mark, &pids_to_watch);
    let (totals, killed) = (phase.totals, phase.killed);
    Ok(Report { time, totals, killed, gateways, left_behind })
}

/// Waits for all processes to end; those that do not are killed and returned.
fn wait_for_exit(mark: &str, pids_to_watch: &[u32]) -> Vec<String> {
    let alive = || {
        let own = pids_to_watch.iter().filter(|pid| process::is_alive(**pid));
        let own = own.filter_map(|pid| process::Process::read(*pid));
        own.chain(process::marked(mark)).collect::<Vec<_>>()
    };
    wait_until(EXIT_TIMEOUT, || alive().is_empty());
    let left = alive();
    kill(left.iter().map(|process| process.pid));
    left.into_iter().map(|process| format!("{} {}", process.pid, process.command)).collect()
}

impl SoakRun {
    /// Runs all clients for this time.
    fn load(&mut self, time: Duration) -> Phase {
        let stats = RequestStats::new(time);
        let pids = [self.session.client().pid(), self.http_gateway.pid()];
        let client = HttpClient(self.http_gateway.address);
        let Self { session, numbers, counted, .. } = self;
        let is_over = AtomicBool::new(false);
        let (killed, measurements) = thread::scope(|scope| {
            let watching = scope.spawn(|| watch(pids, &stats, &is_over));
            let over_http: Vec<_> = (0..HTTP_CLIENTS)
                .map(|_| scope.spawn(|| clients::over_http(client, &stats, numbers)))
                .collect();
            // The client of the testkit panics when its server dies.
            let over_stdio = catch_unwind(AssertUnwindSafe(|| {
                clients::over_stdio(session, &stats, numbers, counted);
            }));
            if over_stdio.is_err() {
                stats.count_lost("the gateway over stdio died".to_owned());
            }
            for client in over_http {
                let _ = client.join();
            }
            is_over.store(true, Ordering::Relaxed);
            watching.join().unwrap_or_default()
        });
        Phase { totals: stats.totals(PARTS), killed, measurements }
    }
}

/// Measures the gateways repeatedly, and kills the workers that wait for it.
fn watch(
    pids: [u32; 2],
    stats: &RequestStats,
    is_over: &AtomicBool,
) -> (u64, [Vec<Measurement>; 2]) {
    let mut measurements = [Vec::new(), Vec::new()];
    let mut killed = 0;
    while !is_over.load(Ordering::Relaxed) {
        for (pid, measurements) in pids.into_iter().zip(&mut measurements) {
            measurements.push(Measurement::take(pid, stats.elapsed()));
            let victims = watch::victims(pid);
            killed += victims.len() as u64;
            kill(victims);
        }
        thread::sleep(MEASURE_INTERVAL);
    }
    (killed, measurements)
}

fn kill(pids: impl IntoIterator<Item = u32>) {
    let pids: Vec<String> = pids.into_iter().map(|pid| pid.to_string()).collect();
    if !pids.is_empty() {
        let _ = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::bins;

    #[test]
    fn a_short_soak_breaks_nothing() {
        let onecall = bins::onecall();
        let built = onecall.parent().unwrap();
        let folder = std::env::temp_dir().join(unique_mark());
        let (time, warm_up) = (Duration::from_secs(15), Duration::from_secs(8));
        let report = soak(built, &folder, time, warm_up).unwrap();
        let _ = fs::remove_dir_all(&folder);
        assert_eq!(report.faults(), Vec::<String>::new(), "{}", report.to_markdown());
    }
}
