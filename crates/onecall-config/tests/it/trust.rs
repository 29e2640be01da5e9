//! What the trust store remembers and forgets.

use std::fs;
use std::path::PathBuf;

use onecall_config::{TrustError, TrustStore};
use tempfile::TempDir;

fn trust_store() -> (TempDir, TrustStore, PathBuf) {
    let root = TempDir::new().unwrap();
    let store = TrustStore::at(&root.path().join("state"));
    let file = root.path().join("onecall.yaml");
    fs::write(&file, "a").unwrap();
    (root, store, file)
}

#[test]
fn trust_is_for_one_path_and_its_bytes() {
    let (root, store, file) = trust_store();
    assert!(!store.is_trusted(&file, b"a").unwrap());
    store.trust(&file, b"a").unwrap();
    assert!(store.is_trusted(&file, b"a").unwrap());
    assert!(!store.is_trusted(&file, b"b").unwrap());
    assert!(store.has_approved(&file).unwrap());

    let other = root.path().join("other.yaml");
    fs::write(&other, "a").unwrap();
    assert!(!store.is_trusted(&other, b"a").unwrap());

    store.trust(&other, b"o").unwrap();
    store.trust(&file, b"b").unwrap();
    assert!(store.is_trusted(&file, b"b").unwrap());
    assert!(!store.is_trusted(&file, b"a").unwrap());
    assert!(store.is_trusted(&other, b"o").unwrap());
}

#[test]
fn revoking() {
    let (_root, store, file) = trust_store();
    assert!(!store.revoke(&file).unwrap());
    store.trust(&file, b"a").unwrap();
    let canonical = fs::canonicalize(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(store.revoke(&canonical).unwrap());
    fs::write(&file, "a").unwrap();
    assert!(!store.is_trusted(&file, b"a").unwrap());
}

#[test]
fn a_damaged_store_is_reported_and_replaced() {
    let (_root, store, file) = trust_store();
    store.trust(&file, b"a").unwrap();
    for damage in ["", "{", "[]", "{\"trusted\": 1}", "\u{0}"] {
        fs::write(store.file(), damage).unwrap();
        let error = store.is_trusted(&file, b"a").unwrap_err();
        assert!(matches!(error, TrustError::Damaged { .. }), "{error}");
    }
    store.trust(&file, b"a").unwrap();
    assert!(store.is_trusted(&file, b"a").unwrap());
}

#[test]
fn a_missing_file_cannot_be_trusted() {
    let (root, store, _) = trust_store();
    let error = store.trust(&root.path().join("no"), b"").unwrap_err();
    assert!(matches!(error, TrustError::NoSuchFile { .. }), "{error}");
    assert!(!store.file().exists());
}

#[cfg(unix)]
#[test]
fn the_store_is_private_and_nothing_is_left_beside_it() {
    use std::os::unix::fs::PermissionsExt;

    let (_root, store, file) = trust_store();
    store.trust(&file, b"a").unwrap();
    store.trust(&file, b"b").unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = store.file().parent().unwrap();
    assert_eq!((mode(store.file()), mode(directory)), (0o600, 0o700));
    assert_eq!(fs::read_dir(directory).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_is_trusted_as_the_file_it_leads_to() {
    let (root, store, file) = trust_store();
    let link = root.path().join("link.yaml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    store.trust(&link, b"a").unwrap();
    assert!(store.is_trusted(&file, b"a").unwrap());
}
