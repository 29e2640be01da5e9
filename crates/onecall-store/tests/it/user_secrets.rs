//! Encrypted secrets of users in the store.

use onecall_core::storage::*;
use onecall_core::{Timestamp, UserName};

use crate::place::{Place, on_every_store, soon};

on_every_store!(
    a_write_replaces_only_the_version_that_it_expects,
    secrets_are_listed_and_removed_by_user_kind_and_name,
    all_secrets_are_encrypted_again_or_none,
    a_secret_is_locked_by_one,
    changes_of_secrets_are_noticed,
);

fn key(user: &str, kind: UserSecretKind, name: &str) -> UserSecretKey {
    UserSecretKey { user: UserName::from_existing(user), kind, name: name.to_owned() }
}

fn content(text: &str) -> SealedSecret {
    SealedSecret {
        key_id: "k".to_owned(),
        nonce: b"nonce".to_vec(),
        sealed: text.as_bytes().to_vec(),
    }
}

fn a_write_replaces_only_the_version_that_it_expects(place: &Place) {
    // Two processes have the store open.
    let [one, other] = [(); 2].map(|()| place.open());
    let key = key("anna", UserSecretKind::Login, "d1");
    let put = |store: &dyn CompleteStore, text: &str, replaced| {
        store.put_user_secret(&key, &content(text), replaced, Timestamp(7)).unwrap()
    };
    let exactly = ReplacedVersion::Exactly;
    assert_eq!(put(&*one, "a", exactly(Some(1))), WriteOutcome::Conflict);
    assert_eq!(put(&*one, "a", exactly(None)), WriteOutcome::Written { replaced: false });
    assert_eq!(put(&*other, "b", exactly(None)), WriteOutcome::Conflict);
    assert_eq!(put(&*other, "b", exactly(Some(1))), WriteOutcome::Written { replaced: true });
    assert_eq!(put(&*one, "c", exactly(Some(1))), WriteOutcome::Conflict);
    let expected = StoredUserSecret {
        key: key.clone(),
        content: content("b"),
        version: 2,
        changed: Timestamp(7),
    };
    assert_eq!(one.user_secret(&key).unwrap(), Some(expected));
    assert_eq!(put(&*one, "d", ReplacedVersion::Any), WriteOutcome::Written { replaced: true });
}

fn secrets_are_listed_and_removed_by_user_kind_and_name(place: &Place) {
    let store = place.open();
    let keys = [
        key("anna", UserSecretKind::Secret, "A"),
        key("anna", UserSecretKind::Secret, "B"),
        key("anna", UserSecretKind::Login, "A"),
        key("Anna", UserSecretKind::Secret, "A"),
    ];
    for key in &keys {
        store.put_user_secret(key, &content("x"), ReplacedVersion::Any, Timestamp(1)).unwrap();
    }
    let listed = |user: Option<&str>| -> Vec<UserSecretKey> {
        let user = user.map(UserName::from_existing);
        let listed = store.user_secrets(user.as_ref()).unwrap();
        listed.into_iter().map(|stored| stored.key).collect()
    };
    let [a, b, login, other] = keys;
    assert_eq!(listed(Some("anna")), [a.clone(), b.clone(), login.clone()]);
    assert_eq!(listed(None), [other.clone(), a.clone(), b.clone(), login.clone()]);
    let absent = key("anna", UserSecretKind::Secret, "C");
    let both = [a.clone(), absent.clone()];
    assert_eq!(store.remove_user_secrets(&both).unwrap(), Some(absent));
    assert_eq!(store.remove_user_secrets(&[a]).unwrap(), None);
    assert_eq!(listed(Some("anna")), [b, login]);
    assert_eq!(store.remove_secrets_of_user(&UserName::from_existing("anna")).unwrap(), 2);
    assert_eq!(listed(None), [other]);
}

fn all_secrets_are_encrypted_again_or_none(place: &Place) {
    let store = place.open();
    for name in ["A", "B", "C"] {
        let key = key("anna", UserSecretKind::Secret, name);
        let any = ReplacedVersion::Any;
        store.put_user_secret(&key, &content(name), any, Timestamp(1)).unwrap();
    }
    let values = || -> Vec<Vec<u8>> {
        let stored = store.user_secrets(None).unwrap();
        stored.into_iter().map(|stored| stored.content.sealed).collect()
    };
    let mut again = |stored: &StoredUserSecret| match stored.key.name.as_str() {
        "C" => Reencryption::Abort,
        _ => Reencryption::Replace(content("new")),
    };
    store.reencrypt_user_secrets(&mut again).unwrap();
    assert_eq!(values(), [b"A", b"B", b"C"]);
    let mut again = |stored: &StoredUserSecret| match stored.key.name.as_str() {
        "A" => Reencryption::Keep,
        "B" => Reencryption::Remove,
        _ => Reencryption::Replace(content("new")),
    };
    store.reencrypt_user_secrets(&mut again).unwrap();
    assert_eq!(values(), [b"A".to_vec(), b"new".to_vec()]);
}

fn a_secret_is_locked_by_one(place: &Place) {
    let [one, other] = [(); 2].map(|()| place.open());
    let [first, second] = ["d1", "d2"].map(|name| key("anna", UserSecretKind::Login, name));
    let lock = |store: &dyn CompleteStore, key| store.try_lock_secret(key).unwrap();
    let locked = lock(&*one, &first);
    assert!(locked.is_some());
    // Neither another process nor this one locks it once more.
    assert!(lock(&*other, &first).is_none() && lock(&*one, &first).is_none());
    let another = lock(&*other, &second);
    assert!(another.is_some() && lock(&*one, &second).is_none());
    drop(locked);
    assert!(soon(|| lock(&*other, &first).is_some()));
    drop(another);
    assert!(soon(|| lock(&*one, &second).is_some()));
}

fn changes_of_secrets_are_noticed(place: &Place) {
    let [one, other] = [(); 2].map(|()| place.open());
    let before = one.secrets_change_number().unwrap();
    let key = key("anna", UserSecretKind::Login, "d1");
    other.put_user_secret(&key, &content("x"), ReplacedVersion::Any, Timestamp(1)).unwrap();
    assert!(soon(|| one.secrets_change_number().unwrap() != before));
    assert_eq!(one.secrets_change_number().unwrap(), one.secrets_change_number().unwrap());
}
