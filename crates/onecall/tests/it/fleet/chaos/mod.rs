//! The fleet under fire: programs with effects through a load balancer in front of three gateways, which are
//! killed, stopped and cut off from their database at random. In the end every program has one answer, each
//! effect has happened once, and no lease was held twice. `cargo xtask fleet` runs the long form.

#![expect(clippy::print_stderr, reason = "the long form is a command that a developer reads")]

mod client;
mod gateways;
mod lease_watch;
mod troubles;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::Secret;
use onecall_store::PostgresStore;
use testkit::load_balancer::LoadBalancer;
use testkit::postgres::PostgresServer;

use self::client::{Client, Counts, RunList, Surroundings, has_run};
use self::gateways::Place;
use self::lease_watch::LeaseWatch;
use self::troubles::Troubles;
use crate::durable::kill::approver::Approver;
use crate::durable::kill::check::Effects;
use crate::durable::kill::programs::TestProgram;
use crate::durable::number_from;
use crate::postgres;
use crate::support::{Home, finish, has_system_python};

const GATEWAYS: usize = 3;

/// How many clients there are at any moment.
const CLIENTS: usize = 6;

/// The time between two looks for questions.
const APPROVER_PAUSE: Duration = Duration::from_millis(50);

/// The time between two lines that say how far the test is.
const PROGRESS_PAUSE: Duration = Duration::from_secs(20);

/// What a test does.
struct ChaosTest {
    programs: usize,
    seed: u64,
    /// After so many troubles, the gateways are left alone.
    troubles: u64,
    timeout: Duration,
}

impl ChaosTest {
    fn run(&self, server: &PostgresServer) {
        let begun = Instant::now();
        let operator = Home::new();
        let (effects, url) = (operator.path("effects"), server.create_database());
        operator.write("config.json", gateways::settings(&effects, &url).to_string());
        let created = finish(operator.onecall_with_config(&["runs"]));
        assert_eq!(created.code, Some(0), "{created:?}");
        let watch = LeaseWatch { server, url: &url };
        watch.begin();
        let new_place = |_| Place::new(server, &url, &effects);
        let mut places: Vec<Place> = (0..GATEWAYS).map(new_place).collect();
        let load_balancer = LoadBalancer::start(places.iter().map(|place| place.address).collect());
        places.iter_mut().for_each(|place| place.open(load_balancer.address()));
        let surroundings = Surroundings {
            load_balancer: load_balancer.address(),
            operator: &operator,
            list: RunList::default(),
            counts: Counts::default(),
            deadline: begun + self.timeout,
        };
        let engines: &[&str] =
            if has_system_python() { &["python", "cpython"] } else { &["python"] };
        let programs: Vec<TestProgram> =
            (0..self.programs).map(|number| TestProgram::new(number, engines)).collect();
        let store = PostgresStore::new(&Secret::new(&url), 256).expect("a store");
        let mut troubles = Troubles::new(self.seed, GATEWAYS);
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let is_over = AtomicBool::new(false);
        let answers: Mutex<Vec<(usize, Option<String>)>> = Mutex::default();
        let approver = thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while let number = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(program) = programs.get(number)
                    {
                        let answer = Client::new(&surroundings, number, program).run();
                        answers.lock().unwrap().push((number, answer));
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let approver = scope.spawn(|| {
                let mut approver = Approver::new(self.seed);
                while !is_over.load(Ordering::Relaxed) {
                    approver.answer_questions(&store, &operator, &effects);
                    thread::sleep(APPROVER_PAUSE);
                }
                approver
            });
            let all_ended = || ended.load(Ordering::Relaxed) == programs.len();
            let mut said = begun;
            let mut say_progress = |troubles: &Troubles| {
                if said.elapsed() >= PROGRESS_PAUSE {
                    said = Instant::now();
                    let (ended, seconds) =
                        (ended.load(Ordering::Relaxed), begun.elapsed().as_secs());
                    eprintln!(
                        "{ended} of {} programs have ended after {seconds} s; {troubles}",
                        self.programs
                    );
                }
            };
            while !troubles.are_varied() || !all_ended() && troubles.count() < self.troubles {
                troubles.go_on(&mut places);
                say_progress(&troubles);
            }
            troubles.end(&places);
            while !all_ended() && Instant::now() < surroundings.deadline {
                thread::sleep(APPROVER_PAUSE);
                say_progress(&troubles);
            }
            is_over.store(true, Ordering::Relaxed);
            approver.join().expect("the approver")
        });
        self.report(&troubles, &surroundings.counts, &approver, &watch, begun.elapsed());
        let faults = faults(&programs, &answers.into_inner().unwrap(), &effects, &watch);
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
        // Otherwise nothing was tested.
        assert!(watch.taken_over() > 0, "no run has changed its gateway");
        assert!(approver.approved > 0, "no call was approved");
    }

    fn report(
        &self,
        troubles: &Troubles,
        counts: &Counts,
        approver: &Approver,
        watch: &LeaseWatch<'_>,
        time: Duration,
    ) {
        let Approver { approved, denied, unknown_happened, unknown_not, .. } = approver;
        eprintln!(
            "fleet under fire: {} programs (seed {}), {troubles}; {}; {counts:?}; {approved} calls approved, \
             {denied} denied, {unknown_happened} unknown that had happened, {unknown_not} unknown that had not; \
             {:.1} s",
            self.programs,
            self.seed,
            watch.summary(),
            time.as_secs_f64(),
        );
    }
}

fn faults(
    programs: &[TestProgram],
    answers: &[(usize, Option<String>)],
    effects: &Path,
    watch: &LeaseWatch<'_>,
) -> Vec<String> {
    let effects = Effects::read(effects).allow_unsent_calls();
    let mut faults = watch.faults();
    if answers.len() != programs.len() {
        faults.push(format!("{} of {} programs were run", answers.len(), programs.len()));
    }
    let clients = watch.clients();
    for (number, answer) in answers {
        let Some(program) = programs.get(*number) else { continue };
        let found = match answer {
            Some(answer) if !has_run(&clients, *number, answer) => {
                vec![format!("its run is not stored; its answer: {answer}")]
            }
            Some(answer) => effects.faults(program, answer),
            None => vec!["it did not end in time".to_owned()],
        };
        let name = format!("{} {:?}", program.prefix, program.form);
        faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
    }
    faults
}

#[test]
fn gateways_under_fire_lose_and_repeat_nothing() {
    let Some(server) = postgres::server() else { return };
    let programs = number_from("ONECALL_FLEET_PROGRAMS").unwrap_or(42);
    let is_long = programs > 50;
    let test = ChaosTest {
        programs: usize::try_from(programs).expect("a number of programs"),
        seed: number_from("ONECALL_FLEET_SEED").unwrap_or(1),
        troubles: if is_long { u64::MAX } else { 6 },
        timeout: Duration::from_secs(if is_long { 120 + 4 * programs } else { 180 }),
    };
    test.run(server);
}
