//! One process at a time executes a run, and one that lost its lease writes nothing.

use std::thread;
use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::*;

use super::{answer, append, batch, called, durable_run, id};
use crate::place::{Place, on_every_store};

on_every_store!(
    only_a_lease_that_is_over_is_taken,
    a_lost_lease_writes_nothing,
    one_of_many_takes_a_lease,
);

const LENGTH: Duration = Duration::from_secs(15);
const DAY: i64 = 24 * 60 * 60 * 1_000;

fn only_a_lease_that_is_over_is_taken(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let take = |now| store.take_lease(&id("a"), "other", Timestamp(now), LENGTH).unwrap();
    let lease =
        |fence, until| Some(Lease { owner: "other".to_owned(), fence, until: Timestamp(until) });
    assert_eq!(take(999), None);
    assert_eq!(take(1_000), lease(2, 16_000));
    assert_eq!(store.durable_run(&id("a")).unwrap().unwrap().lease, lease(2, 16_000));
    assert_eq!(take(15_999), None);
    // A clock that was set back by an hour leaves the lease valid, one that jumped by days does not.
    assert_eq!(take(16_000 - 15_000 - DAY), None);
    let now = 16_000 - 15_000 - DAY - 1;
    assert_eq!(take(now), lease(3, now + 15_000));
    store.give_up_lease(&id("a"), 2).unwrap();
    assert_eq!(take(now), None);
    store.give_up_lease(&id("a"), 3).unwrap();
    assert_eq!(store.durable_run(&id("a")).unwrap().unwrap().lease, None);
    assert_eq!(take(now), lease(4, now + 15_000));
    // Two of the three processes before had not given the lease up.
    assert_eq!(store.durable_run(&id("a")).unwrap().unwrap().interruptions, 2);
    assert_eq!(store.take_lease(&id("b"), "other", Timestamp(now), LENGTH).unwrap(), None);
    store.end_durable_run(&id("a"), 4, &answer(500)).unwrap();
    assert_eq!(take(i64::MAX), None);
}

fn a_lost_lease_writes_nothing(place: &Place) {
    let (store, other) = (place.open(), place.open());
    for name in ["a", "b", "c", "d"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
    }
    // Taken over, given up, cancelled, and still held.
    other.take_lease(&id("a"), "other", Timestamp(5_000), LENGTH).unwrap().unwrap();
    store.give_up_lease(&id("b"), 1).unwrap();
    assert!(other.cancel_durable_run(&id("c"), &answer(500)).unwrap());
    let runs = ["a", "b", "c", "unknown", "d"];
    let batches = runs.map(|name| batch(name, 1, 0, vec![called(0, "{}")]));
    let lost = Err(JournalRefusal::LeaseLost);
    let expected = [lost.clone(), lost.clone(), lost.clone(), lost, Ok(())];
    assert_eq!(store.append(&batches).unwrap(), expected);
    let leases = runs.map(|name| (id(name), 1));
    let renewed = store.renew_leases(&leases, Timestamp(6_000), LENGTH).unwrap();
    assert_eq!(renewed, ["a", "b", "c", "unknown"].map(id));
    let until = |name| store.durable_run(&id(name)).unwrap().unwrap().lease.map(|it| it.until);
    assert_eq!((until("a"), until("d")), (Some(Timestamp(20_000)), Some(Timestamp(21_000))));
    for name in ["a", "b", "c"] {
        assert!(!store.set_waiting(&id(name), 1, true).unwrap(), "{name}");
        assert!(!store.end_durable_run(&id(name), 1, &answer(700)).unwrap(), "{name}");
    }
    append(&*other, "a", 2, 0, vec![called(0, "{}")]);
}

fn one_of_many_takes_a_lease(place: &Place) {
    place.open().add_durable_runs(&[&durable_run("a")]).unwrap();
    for round in 1..=10 {
        let now = Timestamp(round * 100_000);
        let taken: Vec<Lease> = thread::scope(|scope| {
            let takers: Vec<_> = (0..8)
                .map(|taker: u8| {
                    scope.spawn(move || {
                        let store = place.open();
                        store.take_lease(&id("a"), &taker.to_string(), now, LENGTH).unwrap()
                    })
                })
                .collect();
            takers.into_iter().filter_map(|taker| taker.join().unwrap()).collect()
        });
        let [lease] = taken.try_into().unwrap();
        assert_eq!(lease.fence, u64::try_from(round).unwrap() + 1);
    }
}
