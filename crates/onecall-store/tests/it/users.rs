//! Users and their tokens in the store.

use std::collections::BTreeSet;
use std::fs;

use onecall_core::storage::{
    MAX_TOKENS_PER_USER, StoreError, StoredToken, StoredUser, TokenAddition, UserAddition,
    UserLogin, UserRemoval, UserSource, Users,
};
use onecall_core::{Digest, Timestamp, UserName};
use onecall_store::{DEFAULT_JOURNAL_MB, open_durable};

use crate::place::{Place, on_every_store, soon};

const MINUTES: i64 = 60_000;

on_every_store!(
    a_user_is_known_by_exactly_one_name,
    the_groups_of_the_last_login_are_kept,
    the_last_login_is_written_now_and_then,
    a_removed_user_is_not_forgotten,
    tokens_belong_to_users_and_are_bounded,
    changes_of_other_processes_are_noticed,
);

fn name(text: &str) -> UserName {
    UserName::parse(text).unwrap()
}

fn groups(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn token(user: &str, text: &str, expires: i64) -> StoredToken {
    StoredToken {
        id: format!("id-of-{text}"),
        user: name(user),
        digest: Digest::of(text),
        label: "laptop".to_owned(),
        created: Timestamp(10),
        expires: Timestamp(expires),
        last_used: None,
    }
}

fn a_user_is_known_by_exactly_one_name(place: &Place) {
    let store = place.open();
    let add = |text: &str, names: &[&str]| {
        store.add_user(&name(text), &groups(names), Timestamp(1)).unwrap()
    };
    assert_eq!(add("Anna", &["dev"]), UserAddition::Added);
    assert_eq!(add("Anna", &["ops", "dev"]), UserAddition::Updated);
    assert_eq!(add("anna", &[]), UserAddition::SimilarName(name("Anna")));
    let login = |text: &str| store.log_in(&name(text), &groups(&[]), Timestamp(2)).unwrap();
    assert_eq!(login("ANNA"), UserLogin::SimilarName(name("Anna")));
    let expected = StoredUser {
        provider_groups: groups(&[]),
        name: name("Anna"),
        source: UserSource::Added,
        groups: groups(&["dev", "ops"]),
        created: Timestamp(1),
        last_seen: Some(Timestamp(2)),
        removed: None,
    };
    assert_eq!(login("Anna"), UserLogin::Accepted(expected.clone()));
    let UserLogin::Accepted(seen) = login("ben") else { panic!("a new user may log in") };
    assert_eq!((seen.source, seen.groups), (UserSource::Identity, groups(&[])));
    assert_eq!(store.user(&name("Anna")).unwrap(), Some(expected));
    let all: Vec<_> = store.users().unwrap().into_iter().map(|user| user.name).collect();
    assert_eq!(all, [name("Anna"), name("ben")]);
}

fn the_groups_of_the_last_login_are_kept(place: &Place) {
    let store = place.open();
    let anna = name("anna");
    store.add_user(&anna, &groups(&["dev"]), Timestamp(1)).unwrap();
    for (at, given) in [(2, &["ops", "intern"][..]), (3, &["intern"]), (4, &[])] {
        store.log_in(&anna, &groups(given), Timestamp(at)).unwrap();
        let known = store.user(&anna).unwrap().unwrap();
        assert_eq!((known.groups, known.provider_groups), (groups(&["dev"]), groups(given)));
    }
}

fn the_last_login_is_written_now_and_then(place: &Place) {
    let store = place.open();
    let seen_after = |at: i64| {
        store.log_in(&name("anna"), &groups(&[]), Timestamp(at)).unwrap();
        store.user(&name("anna")).unwrap().unwrap().last_seen
    };
    assert_eq!(seen_after(0), Some(Timestamp(0)));
    assert_eq!(seen_after(9 * MINUTES), Some(Timestamp(0)));
    assert_eq!(seen_after(11 * MINUTES), Some(Timestamp(11 * MINUTES)));
}

fn a_removed_user_is_not_forgotten(place: &Place) {
    let store = place.open();
    let anna = name("anna");
    assert_eq!(store.remove_user(&anna, Timestamp(1)).unwrap(), UserRemoval::Unknown);
    store.log_in(&anna, &groups(&[]), Timestamp(1)).unwrap();
    assert_eq!(store.add_token(&token("anna", "t", 99)).unwrap(), TokenAddition::Added);
    assert!(store.token(&Digest::of("t")).unwrap().is_some());
    let removed = store.remove_user(&anna, Timestamp(3)).unwrap();
    assert_eq!(removed, UserRemoval::Removed { tokens: 1 });
    assert_eq!(store.remove_user(&anna, Timestamp(4)).unwrap(), UserRemoval::AlreadyRemoved);
    assert_eq!(
        store.log_in(&anna, &groups(&[]), Timestamp(MINUTES * 60)).unwrap(),
        UserLogin::Removed
    );
    assert_eq!(store.user(&anna).unwrap().unwrap().removed, Some(Timestamp(3)));
    assert_eq!(store.token(&Digest::of("t")).unwrap(), None);
    let refused = store.add_token(&token("anna", "u", 99)).unwrap();
    assert_eq!(refused, TokenAddition::RemovedUser);
    let similar = store.add_user(&name("ANNA"), &groups(&[]), Timestamp(5)).unwrap();
    assert_eq!(similar, UserAddition::SimilarName(anna.clone()));
    let restored = store.add_user(&anna, &groups(&["dev"]), Timestamp(6)).unwrap();
    assert_eq!(restored, UserAddition::Restored);
    assert!(matches!(
        store.log_in(&anna, &groups(&[]), Timestamp(7)).unwrap(),
        UserLogin::Accepted(_)
    ));
}

fn tokens_belong_to_users_and_are_bounded(place: &Place) {
    let store = place.open();
    let unknown = store.add_token(&token("anna", "t", 99)).unwrap();
    assert_eq!(unknown, TokenAddition::UnknownUser);
    for user in ["anna", "ben"] {
        store.add_user(&name(user), &groups(&[]), Timestamp(1)).unwrap();
    }
    // An expired one makes room.
    store.add_token(&token("anna", "expired", 5)).unwrap();
    for number in 0..MAX_TOKENS_PER_USER {
        let added = store.add_token(&token("anna", &number.to_string(), 99)).unwrap();
        assert_eq!(added, TokenAddition::Added);
    }
    assert_eq!(store.add_token(&token("anna", "more", 99)).unwrap(), TokenAddition::TooMany);
    assert_eq!(store.add_token(&token("ben", "more", 99)).unwrap(), TokenAddition::Added);
    assert_eq!(store.tokens(Some(&name("ben"))).unwrap(), [token("ben", "more", 99)]);
    assert_eq!(store.tokens(None).unwrap().len(), MAX_TOKENS_PER_USER + 1);
    store.note_token_use("id-of-more", Timestamp(42)).unwrap();
    let (found, user) = store.token(&Digest::of("more")).unwrap().unwrap();
    assert_eq!(found, StoredToken { last_used: Some(Timestamp(42)), ..token("ben", "more", 99) });
    assert_eq!((user.name, user.last_seen), (name("ben"), Some(Timestamp(42))));
    assert!(store.revoke_token("id-of-more").unwrap());
    assert!(!store.revoke_token("id-of-more").unwrap());
    assert_eq!(store.token(&Digest::of("more")).unwrap(), None);
}

fn changes_of_other_processes_are_noticed(place: &Place) {
    let store = place.open();
    let other = place.open();
    store.add_user(&name("anna"), &groups(&[]), Timestamp(1)).unwrap();
    let before = store.users_change_number().unwrap();
    assert_eq!(store.users_change_number().unwrap(), before);
    other.remove_user(&name("anna"), Timestamp(2)).unwrap();
    assert!(soon(|| store.users_change_number().unwrap() != before));
}

#[test]
fn a_damaged_store_with_users_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("onecall.db");
    let store = open_durable(path.clone(), DEFAULT_JOURNAL_MB);
    store.add_user(&name("anna"), &groups(&[]), Timestamp(1)).unwrap();
    store.remove_user(&name("anna"), Timestamp(2)).unwrap();
    drop(store);
    for suffix in ["", "-wal", "-shm"] {
        let file = folder.path().join(format!("onecall.db{suffix}"));
        if file.exists() {
            fs::write(file, b"nonsense ".repeat(1_000)).unwrap();
        }
    }
    let store = open_durable(path, DEFAULT_JOURNAL_MB);
    let error = store.log_in(&name("anna"), &groups(&[]), Timestamp(3)).unwrap_err();
    assert!(matches!(error, StoreError::DamagedWithRuns { .. }), "{error}");
}
