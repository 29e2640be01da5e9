//! What only a database can do to its users: be migrated by several at once, be newer, stop, hang, and say
//! what has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onecall_config::StoreLocation;
use onecall_core::storage::*;
use onecall_core::{Secret, Timestamp, ToolValue, UserName};
use onecall_store::{PostgresStore, inspect_database, open_configured};
use testkit::postgres::{PASSWORD, PostgresServer};
use testkit::unreliable_link::UnreliableLink;

use crate::answers::answer;
use crate::durable::durable_run;
use crate::place::{Place, soon};
use crate::records::{all, run};

/// The longest time that a call may wait for a database that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

fn open(url: &str) -> Arc<dyn CompleteStore> {
    open_configured(&StoreLocation::Database(Secret::new(url)), 1)
}

/// The error of a call that fails in time. Neither form of it has the password.
fn timely_error<T>(call: impl FnOnce() -> Result<T, StoreError>) -> String {
    let begun = Instant::now();
    let Err(error) = call() else { panic!("the call has to fail") };
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    let (text, debug) = (error.to_string(), format!("{error:?}"));
    assert!(!text.contains(PASSWORD) && !debug.contains(PASSWORD), "{debug}");
    text
}

fn stopped() -> AuditEntry {
    AuditEntry::of_gateway(Timestamp(1), AuditEvent::Stopped { process: 1 })
}

#[test]
fn several_migrate_at_once() {
    for _ in 0..10 {
        let Some(place) = Place::database() else { return };
        thread::scope(|scope| {
            for writer in 0..6 {
                let place = &place;
                scope.spawn(move || place.open().put_run(&run(&writer.to_string(), 1)).unwrap());
            }
        });
        assert_eq!(all(&*place.open()).len(), 6);
        assert_eq!(place.count("version"), 1);
    }
}

#[test]
fn a_newer_schema_is_refused() {
    let Some(place) = Place::database() else { return };
    place.open().put_run(&run("a", 1)).unwrap();
    place.execute("UPDATE version SET number = 99");
    let text = timely_error(|| place.open().put_run(&run("b", 1)));
    assert!(
        text.ends_with(
            "has version 99, and this onecall supports versions up to 6; update onecall"
        ),
        "{text}"
    );
    assert!(text.starts_with("the store 'postgres://127.0.0.1:"), "{text}");
    assert_eq!(place.count("runs"), 1);
}

#[test]
fn a_look_changes_nothing() {
    let Some(Place::Database(url)) = Place::database() else { return };
    let seen = inspect_database(&Secret::new(url.as_str())).unwrap();
    assert_eq!((seen.version, seen.newest), (None, 6));
    assert!(!seen.address.contains(PASSWORD) && seen.address.starts_with("postgres://127.0.0.1:"));
    open(&url).put_run(&run("a", 1)).unwrap();
    assert_eq!(inspect_database(&Secret::new(url)).unwrap().version, Some(6));
}

#[test]
fn a_database_that_stops_is_used_again_when_it_is_back() {
    let Some(mut server) = PostgresServer::start_new() else { return };
    let store = open(&server.create_database());
    store.put_run(&run("a", 1)).unwrap();
    // A record is on disk when the next write that waits for the disk is.
    store.append_audit(&[stopped()]).unwrap();
    let number = store.change_number().unwrap();
    assert_eq!(store.change_number().unwrap(), number);
    server.stop();
    for _ in 0..3 {
        timely_error(|| store.put_run(&run("b", 1)));
        timely_error(|| store.runs(&RunFilter::default()));
    }
    // Without notifications, everything may have changed.
    assert!(soon(|| store.change_number().unwrap() != store.change_number().unwrap()));
    assert!(!store.is_unchanged_since(store.version().unwrap()));
    server.start();
    assert!(soon_again(|| store.put_run(&run("c", 1)).is_ok()));
    assert_eq!(all(&*store), ["c", "a"]);
    assert!(soon_again(|| store.change_number().unwrap() == store.change_number().unwrap()));
}

/// Waits longer than the longest pause between attempts to connect.
fn soon_again(mut condition: impl FnMut() -> bool) -> bool {
    (0..10).any(|_| soon(&mut condition))
}

#[test]
fn a_database_that_hangs_gives_an_error() {
    let Some(server) = PostgresServer::start_new() else { return };
    let store = open(&server.create_database());
    store.put_run(&run("a", 1)).unwrap();
    server.freeze();
    let text = timely_error(|| store.put_run(&run("b", 1)));
    assert!(text.contains("does not answer"), "{text}");
    timely_error(|| store.append_audit(&[stopped()]));
    server.thaw();
    assert!(soon_again(|| store.put_run(&run("c", 1)).is_ok()));
}

/// The locks of a process that is cut off in the middle of a transaction are free before another one gives up.
#[test]
fn a_process_that_is_cut_off_holds_up_no_other() {
    let Some(server) = PostgresServer::start_new() else { return };
    let url = server.create_database();
    let other = open(&url);
    other.append_audit(&[stopped()]).unwrap();
    for _ in 0..4 {
        let link = UnreliableLink::to(server.address());
        let link_address = link.address().to_string();
        let store = open(&url.replace(&server.address().to_string(), &link_address));
        let written = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while store.append_audit(&[stopped()]).is_ok() {
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
            while written.load(Ordering::Relaxed) < 10 {
                thread::yield_now();
            }
            // Most of the time, a transaction is under way.
            link.cut();
            other.append_audit(&[stopped()]).unwrap();
        });
    }
}

/// A link to a server, and a store that uses it.
fn linked(server: &PostgresServer) -> (UnreliableLink, Arc<dyn CompleteStore>, String) {
    let (link, url) = (UnreliableLink::to(server.address()), server.create_database());
    let address = server.address().to_string();
    let store = open(&url.replace(&address, &link.address().to_string()));
    (link, store, url)
}

#[test]
fn what_was_written_without_an_answer_is_written_once() {
    let Some(server) = PostgresServer::start_new() else { return };
    let (link, store, url) = linked(&server);
    let other = open(&url);
    let event = |process| AuditEntry::of_gateway(Timestamp(1), AuditEvent::Stopped { process });
    let processes = || {
        let rows = other.audit_rows(&AuditFilter::default()).unwrap();
        let process = |row: AuditRow| match row.entry.event {
            AuditEvent::Stopped { process } => process,
            other => panic!("{other:?}"),
        };
        rows.into_iter().rev().map(process).collect::<Vec<_>>()
    };
    let entries = [event(1), event(2), event(3)];
    link.lose_commit_of("INSERT INTO audit (");
    let error = store.append_audit(&entries[..2]).unwrap_err();
    assert!(error.may_be_done() && error.is_temporary() && link.has_lost_commit(), "{error}");
    assert_eq!(processes(), [1, 2]);
    other.append_audit(&[event(9)]).unwrap();
    // The answer to the second attempt is lost, too.
    link.lose_commit_of("INSERT INTO audit (");
    assert!(store.append_audit(&entries).unwrap_err().may_be_done());
    store.append_audit(&entries).unwrap();
    assert_eq!(processes(), [1, 2, 9, 3]);
    // Equal rows that are no repetition are written.
    store.append_audit(&entries).unwrap();
    assert_eq!(processes(), [1, 2, 9, 3, 1, 2, 3]);
    assert!(other.verify_audit(None).unwrap().problems.is_empty());

    let run = durable_run("a");
    link.lose_commit_of("INSERT INTO durable_runs");
    assert!(store.add_durable_runs(&[&run]).unwrap_err().may_be_done());
    store.add_durable_runs(&[&run]).unwrap();
    assert_eq!(other.durable_runs(false).unwrap(), [run]);
}

/// Nothing arrives on the connection that listens for changes, and neither side sees an end of it.
#[test]
fn a_change_is_noticed_although_no_notification_arrives() {
    let Some(server) = PostgresServer::start_new() else { return };
    let (link, store, url) = linked(&server);
    let number = store.change_number().unwrap();
    assert_eq!(store.change_number().unwrap(), number);
    link.cut();
    open(&url).set_waiting(&onecall_core::RunId::from_existing("a"), 1, true).unwrap();
    let begun = Instant::now();
    while store.change_number().unwrap() == number {
        assert!(begun.elapsed() < Duration::from_secs(2), "the change is not noticed");
        thread::sleep(Duration::from_millis(20));
    }
    link.restore();
    assert!(soon_again(|| store.change_number().unwrap() == store.change_number().unwrap()));
}

/// A migration takes longer than another statement may, and waits for tables that others use.
#[test]
fn a_migration_waits_for_others_and_takes_its_time() {
    let Some(server) = PostgresServer::start_new() else { return };
    let url = server.create_database();
    open(&url).put_run(&run("a", 1)).unwrap();
    // The schema is that of the version before; a trigger makes its migration slow.
    server.execute(
        &url,
        "SET search_path = onecall; UPDATE version SET number = 5;
         ALTER TABLE questions DROP COLUMN announce_ms;
         CREATE FUNCTION slow() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(8); RETURN NEW; END $$
           LANGUAGE plpgsql;
         CREATE TRIGGER slow BEFORE UPDATE ON version FOR EACH ROW EXECUTE FUNCTION slow();",
    );
    let store = open(&url);
    thread::scope(|scope| {
        // It holds the table for longer than a migration waits at a time.
        let holder = scope.spawn(|| {
            let hold = "SET search_path = onecall; BEGIN; SELECT 1 FROM questions; SELECT pg_sleep(3); END";
            server.execute(&url, hold);
        });
        store.put_run(&run("b", 1)).unwrap();
        holder.join().unwrap();
    });
    assert_eq!(all(&*store), ["b", "a"]);
    assert_eq!(server.execute(&url, "SELECT number FROM onecall.version"), "6");
}

#[test]
fn a_migration_that_fails_is_not_repeated_by_each_call() {
    let Some(server) = PostgresServer::start_new() else { return };
    let url = server.create_database();
    // The migration creates this table.
    server.execute(&url, "CREATE SCHEMA onecall; CREATE TABLE onecall.calls (id BIGINT)");
    let store = open(&url);
    let first = timely_error(|| store.put_run(&run("a", 1)));
    assert!(first.contains("already exists"), "{first}");
    server.execute(&url, "DROP TABLE onecall.calls");
    let second = timely_error(|| store.put_run(&run("a", 1)));
    assert!(second.contains("cannot be brought up to date"), "{second}");
    assert!(soon_again(|| soon_again(|| store.put_run(&run("a", 1)).is_ok())));
}

#[test]
fn a_wrong_password_is_not_shown() {
    let Some(Place::Database(url)) = Place::database() else { return };
    let wrong = url.replace(PASSWORD, &format!("{PASSWORD}!"));
    let text = timely_error(|| open(&wrong).put_run(&run("a", 1)));
    assert!(text.contains("password authentication failed"), "{text}");
    let url = format!("{url}&port={PASSWORD}");
    let text = timely_error(|| PostgresStore::new(&Secret::new(url.as_str()), 1).map(drop));
    assert!(text.contains("`url` in store is not a URL of PostgreSQL"), "{text}");
    timely_error(|| open(&url).put_run(&run("a", 1)));
}

/// A server without a certificate cannot be used with `sslmode=require`.
#[test]
fn a_connection_that_has_to_be_encrypted_is() {
    let Some(Place::Database(url)) = Place::database() else { return };
    let encrypted = url.replace("sslmode=disable", "sslmode=require");
    let text = timely_error(|| open(&encrypted).put_run(&run("a", 1)));
    assert!(text.contains("TLS"), "{text}");
    let preferred = url.replace("sslmode=disable", "sslmode=prefer");
    open(&preferred).put_run(&run("a", 1)).unwrap();
}

#[test]
fn other_processes_notice_a_change_within_a_second() {
    let Some(place) = Place::database() else { return };
    let (store, other) = (place.open(), place.open());
    let anna = UserName::parse("anna").unwrap();
    store.add_user(&anna, &Default::default(), Timestamp(1)).unwrap();
    let key = UserSecretKey { user: anna.clone(), kind: UserSecretKind::Secret, name: "A".into() };
    let sealed = SealedSecret { key_id: "k".into(), nonce: vec![1], sealed: vec![2] };
    let kept = answer(ToolValue::Nothing, 1, 2);
    let remove = || _ = other.remove_user(&anna, Timestamp(2)).unwrap();
    let any = ReplacedVersion::Any;
    let set = || _ = other.put_user_secret(&key, &sealed, any, Timestamp(1)).unwrap();
    let users: [&dyn Fn(); 2] = [&remove, &set];
    for change in users {
        let number = store.users_change_number().unwrap();
        change();
        assert!(soon(|| store.users_change_number().unwrap() != number));
    }
    let put = || other.put_answer(&[7; 32], "s", "t", &kept).unwrap();
    let clear = || _ = other.forget_answers(&|_, _| true).unwrap();
    let answers: [&dyn Fn(); 2] = [&put, &clear];
    for change in answers {
        let version = store.version().unwrap();
        assert!(store.is_unchanged_since(version));
        change();
        assert!(soon(|| !store.is_unchanged_since(version)));
    }
    // Records change nothing that another process waits for.
    let (version, number) = (store.version().unwrap(), store.change_number().unwrap());
    other.put_run(&run("a", 1)).unwrap();
    thread::sleep(Duration::from_millis(100));
    assert!(store.is_unchanged_since(version));
    assert_eq!(store.change_number().unwrap(), number);
}

/// The store may be called by code that runs on a runtime, and dropped there.
#[test]
fn a_store_is_used_and_dropped_inside_of_a_runtime() {
    let Some(place) = Place::database() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = place.open();
        store.put_run(&run("a", 1)).unwrap();
        store.change_number().unwrap();
        drop(store);
    });
    assert_eq!(all(&*place.open()), ["a"]);
}
