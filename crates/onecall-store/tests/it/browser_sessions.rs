//! The sessions of browsers in the store.

use std::collections::BTreeSet;

use onecall_core::storage::{BrowserSession, MAX_BROWSER_SESSIONS_PER_USER, SessionProof};
use onecall_core::{Digest, Timestamp, UserName};

use crate::place::{Place, on_every_store};

on_every_store!(
    a_session_is_the_same_for_every_process_until_it_ends,
    the_sessions_of_a_user_are_bounded,
    a_removed_user_has_no_sessions,
);

fn session(user: &str, secret: &str, ends: i64) -> BrowserSession {
    BrowserSession {
        digest: Digest::of(secret),
        user: UserName::parse(user).unwrap(),
        proof: SessionProof::Token(Digest::of("token")),
        ends: Timestamp(ends),
    }
}

fn a_session_is_the_same_for_every_process_until_it_ends(place: &Place) {
    let (store, other) = (place.open(), place.open());
    let found = |digest: &Digest, now: i64| other.browser_session(digest, Timestamp(now)).unwrap();
    let with_token = session("anna", "one", 100);
    let groups: BTreeSet<String> = ["dev", "\u{e9}\"\0"].map(str::to_owned).into();
    let by_provider = BrowserSession {
        proof: SessionProof::Provider { groups: groups.clone(), confirmed: Timestamp(7) },
        ..session("anna", "two", 200)
    };
    for session in [&with_token, &by_provider] {
        store.put_browser_session(session, Timestamp(1)).unwrap();
        assert_eq!(found(&session.digest, 1).as_ref(), Some(session));
    }
    assert_eq!(found(&Digest::of("three"), 1), None);
    // A session that is confirmed again stays the same session.
    let proof = SessionProof::Provider { groups, confirmed: Timestamp(50) };
    let confirmed = BrowserSession { proof, ..by_provider.clone() };
    store.put_browser_session(&confirmed, Timestamp(50)).unwrap();
    assert_eq!(found(&by_provider.digest, 50), Some(confirmed));
    assert_eq!(place.count("browser_sessions"), 2);
    assert_eq!(
        (found(&with_token.digest, 99).is_some(), found(&with_token.digest, 100)),
        (true, None)
    );
    store.remove_browser_session(&by_provider.digest).unwrap();
    assert_eq!(found(&by_provider.digest, 50), None);
    // What has ended is deleted when the next session begins.
    store.put_browser_session(&session("ben", "four", 300), Timestamp(100)).unwrap();
    assert_eq!(place.count("browser_sessions"), 1);
}

fn the_sessions_of_a_user_are_bounded(place: &Place) {
    let store = place.open();
    store.put_browser_session(&session("ben", "of ben", 1_000), Timestamp(1)).unwrap();
    let most = i64::from(MAX_BROWSER_SESSIONS_PER_USER);
    for number in 0..=most {
        let begun = session("anna", &number.to_string(), 1_000 + number);
        store.put_browser_session(&begun, Timestamp(1)).unwrap();
    }
    let is_there =
        |secret: &str| store.browser_session(&Digest::of(secret), Timestamp(1)).unwrap().is_some();
    assert_eq!(place.count("browser_sessions"), most + 1);
    assert!(!is_there("0") && is_there("1") && is_there(&most.to_string()) && is_there("of ben"));
}

fn a_removed_user_has_no_sessions(place: &Place) {
    let store = place.open();
    let anna = UserName::parse("anna").unwrap();
    store.add_user(&anna, &BTreeSet::new(), Timestamp(1)).unwrap();
    for user in ["anna", "ben"] {
        store.put_browser_session(&session(user, user, 1_000), Timestamp(1)).unwrap();
    }
    store.remove_user(&anna, Timestamp(2)).unwrap();
    store.add_user(&anna, &BTreeSet::new(), Timestamp(3)).unwrap();
    let found = |secret: &str| store.browser_session(&Digest::of(secret), Timestamp(3)).unwrap();
    assert_eq!((found("anna"), found("ben").is_some()), (None, true));
}
