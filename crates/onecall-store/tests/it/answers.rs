//! Cached answers that processes share.

use onecall_core::storage::*;
use onecall_core::{Timestamp, ToolValue};
use serde_json::value::RawValue;

use crate::place::{Place, on_every_store, soon};

on_every_store!(
    answers_hold_until_they_expire,
    whoever_writes_makes_another_version,
    the_oldest_answers_make_room,
    spoilt_answers_are_none_and_go,
);

pub(crate) fn answer(value: ToolValue, stored: i64, expires: i64) -> StoredAnswer {
    let (stored_at, expires_at) = (Timestamp(stored), Timestamp(expires));
    StoredAnswer { value, stored_at, expires_at }
}

pub(crate) fn found(store: &dyn CompleteStore, key: u8, now: i64) -> Option<String> {
    store.answer(&[key; 32], Timestamp(now)).unwrap().map(|answer| format!("{:?}", answer.value))
}

fn answers_hold_until_they_expire(place: &Place) {
    let store = place.open();
    let json = RawValue::from_string("{\"a\":1}".to_owned()).unwrap();
    store.put_answer(&[1; 32], "s", "t", &answer(ToolValue::Json(json), 10, 20)).unwrap();
    store.put_answer(&[2; 32], "s", "u", &answer(ToolValue::Text("x".into()), 10, 20)).unwrap();
    store.put_answer(&[3; 32], "r", "t", &answer(ToolValue::Nothing, 10, 30)).unwrap();
    assert_eq!(found(&*store, 1, 19).unwrap(), "Json(RawValue({\"a\":1}))");
    assert_eq!(found(&*store, 2, 19).unwrap(), "Text(\"x\")");
    assert_eq!(found(&*store, 3, 19).unwrap(), "Nothing");
    assert_eq!(found(&*store, 1, 20), None);
    assert_eq!(found(&*store, 4, 19), None);
    store.count_hits(&[2; 32], 3).unwrap();
    let sizes = store.answer_sizes(Timestamp(19)).unwrap();
    let shown: Vec<_> =
        sizes.iter().map(|it| (&*it.server, &*it.tool, it.entries, it.bytes, it.hits)).collect();
    assert_eq!(shown, [("r", "t", 1, 34, 0), ("s", "t", 1, 41, 0), ("s", "u", 1, 35, 3)]);
    assert_eq!(store.forget_answers(&|server, tool| server == "s" && tool == "u").unwrap(), 1);
    assert_eq!(found(&*store, 2, 19), None);
    assert_eq!(store.evict_answers(1_000, Timestamp(20)).unwrap(), 1);
    assert_eq!(found(&*store, 3, 20).unwrap(), "Nothing");
}

fn whoever_writes_makes_another_version(place: &Place) {
    let (store, other) = (place.open(), place.open());
    let put = |store: &dyn CompleteStore| {
        let kept = answer(ToolValue::Nothing, 1, 2);
        store.put_answer(&[7; 32], "s", "t", &kept).unwrap();
    };
    let look = || (found(&*store, 7, 1), found(&*other, 7, 1));
    put(&*store);
    look();
    let (version, seen_by_other) = (store.version().unwrap(), other.version().unwrap());
    look();
    assert!(store.is_unchanged_since(version) && other.is_unchanged_since(seen_by_other));
    // What one saw says nothing to another.
    assert_ne!(version, seen_by_other);
    assert!(!other.is_unchanged_since(version));

    for writer in [&store, &other] {
        let version = store.version().unwrap();
        put(&**writer);
        assert!(soon(|| !store.is_unchanged_since(version)));
        assert!(store.is_unchanged_since(store.version().unwrap()));
    }
}

fn the_oldest_answers_make_room(place: &Place) {
    let store = place.open();
    for number in 0..10_u8 {
        let value = ToolValue::Text("x".repeat(1_000));
        let answer = answer(value, i64::from(number), 100);
        store.put_answer(&[number; 32], "s", "t", &answer).unwrap();
    }
    assert_eq!(store.evict_answers(3_500, Timestamp(50)).unwrap(), 7);
    assert!(found(&*store, 6, 50).is_none() && found(&*store, 7, 50).is_some());
    let large = answer(ToolValue::Text("x".repeat(MAX_ANSWER_BYTES)), 0, 100);
    assert!(matches!(
        store.put_answer(&[9; 32], "s", "t", &large),
        Err(StoreError::TooLarge { .. })
    ));
}

fn spoilt_answers_are_none_and_go(place: &Place) {
    let store = place.open();
    let spoils = [
        "kind = 'json', value = '{\"a\":'",
        "kind = 'yaml'",
        "kind = 'nothing', value = 'x'",
        "stored_ms = 99",
        "expires_ms = 1",
    ];
    for spoil in spoils {
        store.put_answer(&[1; 32], "s", "t", &answer(ToolValue::Text("1".into()), 10, 20)).unwrap();
        assert!(found(&*store, 1, 15).is_some());
        place.execute(&format!("UPDATE answers SET {spoil}"));
        assert_eq!(found(&*store, 1, 15), None, "{spoil}");
        assert_eq!(place.count("answers"), 0, "{spoil}");
    }
}
