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
            "has version 99, and this onecall supports versions up to 4; update onecall"
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
    assert_eq!((seen.version, seen.newest), (None, 4));
    assert!(!seen.address.contains(PASSWORD) && seen.address.starts_with("postgres://127.0.0.1:"));
    open(&url).put_run(&run("a", 1)).unwrap();
    assert_eq!(inspect_database(&Secret::new(url)).unwrap().version, Some(4));
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
