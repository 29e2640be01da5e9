//! The vault with a real store: what is stored, what can be decrypted, and how keys are replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onecall_core::storage::{Reencryption, SealedSecret, SecretLock, StoreError};
use onecall_store::{SqliteStore, open_durable};

use super::*;

const VALUE: &str = "swordfish-4711";

/// A folder with a state directory and a store.
struct Place {
    folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open_durable(folder.path().join("store.db"), 1);
        Self { folder, store }
    }

    fn directories(&self) -> Directories {
        let state = self.folder.path().join("state").display().to_string();
        Directories::from_environment(&|name| (name == "XDG_STATE_HOME").then(|| state.clone()))
    }

    /// A process that uses the vault.
    fn vault(&self) -> UserVault {
        self.vault_with_key(None)
    }

    fn vault_with_key(&self, variable: Option<&str>) -> UserVault {
        let variable = variable.map(Secret::new);
        UserVault::with_keys(self.store.clone(), variable, &self.directories())
    }

    fn key_path(&self) -> PathBuf {
        self.folder.path().join("state/onecall/user-secrets.key")
    }

    /// The ids of the keys that secrets are encrypted with.
    fn used_keys(&self) -> Vec<String> {
        let stored = self.store.user_secrets(None).unwrap();
        stored.into_iter().map(|stored| stored.content.key_id).collect()
    }
}

fn anna() -> UserName {
    UserName::parse("anna").unwrap()
}

fn bob() -> UserName {
    UserName::parse("bob").unwrap()
}

fn set(vault: &UserVault, user: &UserName, name: &str, value: &str) {
    vault.set_secret(user, name, &Secret::new(value)).unwrap();
}

fn get(vault: &UserVault, user: &UserName, name: &str) -> String {
    let found = vault.secret(user, name).unwrap();
    found.map_or_else(|| "(none)".to_owned(), |secret| secret.reveal().to_owned())
}

/// The text of the error of reading a secret.
fn error(vault: &UserVault, user: &UserName, name: &str) -> String {
    let text = vault.secret(user, name).unwrap_err().to_string();
    assert!(!text.contains(VALUE), "{text}");
    text
}

/// All bytes of all files below a folder.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => bytes.extend(all_bytes(&path)),
            false => bytes.extend(fs::read(path).unwrap()),
        }
    }
    bytes
}

const OTHER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const THIRD_KEY: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

#[test]
fn a_secret_is_for_its_user_and_never_on_disk() {
    let place = Place::new();
    let vault = place.vault();
    assert_eq!(get(&vault, &anna(), "TOKEN"), "(none)");
    // Reading makes no key.
    assert!(!place.key_path().exists());
    set(&vault, &anna(), "TOKEN", VALUE);
    set(&vault, &bob(), "TOKEN", "of bob");
    assert_eq!(get(&vault, &anna(), "TOKEN"), VALUE);
    assert_eq!(get(&vault, &bob(), "TOKEN"), "of bob");
    assert_eq!(get(&vault, &UserName::parse("Anna").unwrap(), "TOKEN"), "(none)");
    // Another process has the same key.
    assert_eq!(get(&place.vault(), &anna(), "TOKEN"), VALUE);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.key_path()), 0o600);
    assert_eq!(mode(place.key_path().parent().unwrap()), 0o700);
    let bytes = all_bytes(place.folder.path());
    assert!(!bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes()));
    assert!(!format!("{vault:?}").contains(VALUE));

    vault.remove_secrets(&anna(), &["TOKEN".to_owned()]).unwrap();
    assert_eq!(get(&vault, &anna(), "TOKEN"), "(none)");
    let absent = vault.remove_secrets(&anna(), &["TOKEN".to_owned()]).unwrap_err();
    assert_eq!(
        absent.to_string(),
        "there is no secret 'TOKEN' of user 'anna'; nothing was changed"
    );
}

#[test]
fn a_row_that_was_moved_or_changed_cannot_be_decrypted() {
    let place = Place::new();
    let vault = place.vault();
    set(&vault, &anna(), "TOKEN", VALUE);
    let stored = place.store.user_secret(&secret_key(&anna(), "TOKEN")).unwrap().unwrap();
    let move_to = |key: &UserSecretKey, content: &SealedSecret| {
        let any = ReplacedVersion::Any;
        place.store.put_user_secret(key, content, any, Timestamp(1)).unwrap();
    };
    move_to(&secret_key(&bob(), "TOKEN"), &stored.content);
    move_to(&secret_key(&anna(), "OTHER"), &stored.content);
    let login = UserSecretKey { kind: UserSecretKind::Login, ..secret_key(&anna(), "TOKEN") };
    move_to(&login, &stored.content);
    assert_eq!(
        error(&vault, &bob(), "TOKEN"),
        "the secret TOKEN of user 'bob' cannot be decrypted: it was changed in the store, or belongs to \
         another user or name; store it again with `onecall secrets set TOKEN --user bob`"
    );
    assert!(error(&vault, &anna(), "OTHER").contains("cannot be decrypted"));
    assert!(vault.open_login(&login).unwrap_err().to_string().contains("a login of user 'anna'"));
    let mut changed = stored.content.clone();
    changed.sealed[0] ^= 1;
    move_to(&secret_key(&anna(), "CHANGED"), &changed);
    assert!(error(&vault, &anna(), "CHANGED").contains("cannot be decrypted"));
    let short = SealedSecret { nonce: vec![1, 2, 3], sealed: Vec::new(), ..stored.content };
    move_to(&secret_key(&anna(), "SHORT"), &short);
    assert!(error(&vault, &anna(), "SHORT").contains("cannot be decrypted"));
    assert_eq!(get(&vault, &anna(), "TOKEN"), VALUE);
}

#[test]
fn a_missing_key_is_named_and_not_replaced() {
    let place = Place::new();
    set(&place.vault(), &anna(), "TOKEN", VALUE);
    let [key_id] = &place.used_keys()[..] else { panic!() };
    let kept = fs::read(place.key_path()).unwrap();
    fs::remove_file(place.key_path()).unwrap();
    let vault = place.vault();
    assert_eq!(
        error(&vault, &anna(), "TOKEN"),
        format!(
            "the secret TOKEN of user 'anna' is encrypted with the key {key_id}, which onecall does not \
             have: add that key to ONECALL_SECRETS_KEY after a comma, or restore the key file; if the key \
             is lost, store it again with `onecall secrets set TOKEN --user anna`"
        )
    );
    let refused = vault.set_secret(&anna(), "OTHER", &Secret::new("x")).unwrap_err().to_string();
    assert!(
        refused.contains("the key for secrets of users is missing, and 1 of them"),
        "{refused}"
    );
    let refused = vault.rotate(UnreadableSecrets::Fail).unwrap_err().to_string();
    assert!(refused.contains(key_id), "{refused}");
    assert!(!place.key_path().exists(), "a key was made");
    let entries = vault.entries(None).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.is_readable).collect::<Vec<_>>(), [false]);

    // The key comes back, or the secrets are given up.
    fs::write(place.key_path(), kept).unwrap();
    fs::set_permissions(place.key_path(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(get(&vault, &anna(), "TOKEN"), VALUE);
    fs::remove_file(place.key_path()).unwrap();
    let rotation = place.vault().rotate(UnreadableSecrets::Remove).unwrap();
    assert_eq!(rotation.removed, [secret_key(&anna(), "TOKEN")]);
    assert_eq!(rotation.reencrypted, 0);
    set(&place.vault(), &anna(), "TOKEN", VALUE);
}

#[test]
fn a_key_file_that_others_can_read_or_that_is_damaged_is_refused() {
    let place = Place::new();
    set(&place.vault(), &anna(), "TOKEN", VALUE);
    fs::set_permissions(place.key_path(), fs::Permissions::from_mode(0o644)).unwrap();
    let text = error(&place.vault(), &anna(), "TOKEN");
    assert!(text.contains("other users can read it (mode 644)"), "{text}");
    for damaged in ["", "{}", r#"{"about":"","keys":[]}"#, r#"{"about":"","keys":["c2hvcnQ="]}"#] {
        fs::write(place.key_path(), damaged).unwrap();
        fs::set_permissions(place.key_path(), fs::Permissions::from_mode(0o600)).unwrap();
        let text = error(&place.vault(), &anna(), "TOKEN");
        assert!(text.contains("is damaged; restore it from a backup"), "{text}");
    }
}

#[test]
fn keys_can_be_in_the_environment() {
    let place = Place::new();
    let first = place.vault_with_key(Some(OTHER_KEY));
    set(&first, &anna(), "TOKEN", VALUE);
    assert!(!place.key_path().exists());
    assert!(
        error(&place.vault_with_key(Some(THIRD_KEY)), &anna(), "TOKEN").contains("does not have")
    );
    // Both keys decrypt, and the first one encrypts.
    let both = place.vault_with_key(Some(&format!("{THIRD_KEY}, {OTHER_KEY}")));
    assert_eq!(get(&both, &anna(), "TOKEN"), VALUE);
    let rotation = both.rotate(UnreadableSecrets::Fail).unwrap();
    assert_eq!((rotation.reencrypted, rotation.unneeded_file), (1, None));
    assert_eq!(place.used_keys(), [rotation.key_id]);
    assert_eq!(get(&place.vault_with_key(Some(THIRD_KEY)), &anna(), "TOKEN"), VALUE);
    for invalid in ["zz!", "c2hvcnQ=", &format!("{OTHER_KEY},"), &format!("{OTHER_KEY},zz")] {
        let text = error(&place.vault_with_key(Some(invalid)), &anna(), "TOKEN");
        assert!(text.contains("in ONECALL_SECRETS_KEY is not valid"), "{text}");
        assert!(!text.contains(invalid), "{text}");
    }
}

#[test]
fn a_key_can_move_from_the_file_to_the_environment() {
    let place = Place::new();
    set(&place.vault(), &anna(), "TOKEN", VALUE);
    let vault = place.vault_with_key(Some(OTHER_KEY));
    assert_eq!(get(&vault, &anna(), "TOKEN"), VALUE);
    let rotation = vault.rotate(UnreadableSecrets::Fail).unwrap();
    assert_eq!(rotation.unneeded_file, Some(place.key_path()));
    fs::remove_file(place.key_path()).unwrap();
    assert_eq!(get(&place.vault_with_key(Some(OTHER_KEY)), &anna(), "TOKEN"), VALUE);
}

#[test]
fn a_replaced_key_is_noticed_by_other_processes() {
    let place = Place::new();
    let running = place.vault();
    set(&running, &anna(), "TOKEN", VALUE);
    let before = place.used_keys();
    let rotation = place.vault().rotate(UnreadableSecrets::Fail).unwrap();
    assert_eq!(rotation.reencrypted, 1);
    assert_ne!(place.used_keys(), before);
    let file = fs::read_to_string(place.key_path()).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(stored["keys"].as_array().unwrap().len(), 1, "the old key is still there");
    assert_eq!(get(&running, &anna(), "TOKEN"), VALUE);
    set(&running, &bob(), "TOKEN", "of bob");
    assert_eq!(place.used_keys(), [rotation.key_id.clone(), rotation.key_id]);
}

/// A store that fails when all secrets are encrypted again, after or before it has done so.
struct FailingStore {
    store: Arc<SqliteStore>,
    is_done: bool,
}

impl UserSecretStore for FailingStore {
    fn user_secret(&self, key: &UserSecretKey) -> Result<Option<StoredUserSecret>, StoreError> {
        self.store.user_secret(key)
    }

    fn user_secrets(&self, user: Option<&UserName>) -> Result<Vec<StoredUserSecret>, StoreError> {
        self.store.user_secrets(user)
    }

    fn put_user_secret(
        &self,
        key: &UserSecretKey,
        content: &SealedSecret,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.store.put_user_secret(key, content, replaced, now)
    }

    fn remove_user_secrets(
        &self,
        keys: &[UserSecretKey],
    ) -> Result<Option<UserSecretKey>, StoreError> {
        self.store.remove_user_secrets(keys)
    }

    fn remove_secrets_of_user(&self, user: &UserName) -> Result<u64, StoreError> {
        self.store.remove_secrets_of_user(user)
    }

    fn try_lock_secret(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<Box<dyn SecretLock>>, StoreError> {
        self.store.try_lock_secret(key)
    }

    fn secrets_change_number(&self) -> Result<i64, StoreError> {
        self.store.secrets_change_number()
    }

    fn reencrypt_user_secrets(
        &self,
        reencrypt: &mut dyn FnMut(&StoredUserSecret) -> Reencryption,
    ) -> Result<(), StoreError> {
        if self.is_done {
            self.store.reencrypt_user_secrets(reencrypt)?;
        }
        // The process ends here: nothing after this happens.
        panic!("killed")
    }
}

#[test]
fn a_process_that_is_killed_while_it_replaces_the_key_loses_nothing() {
    for is_done in [false, true] {
        let place = Place::new();
        set(&place.vault(), &anna(), "TOKEN", VALUE);
        let store = Arc::new(FailingStore { store: place.store.clone(), is_done });
        let killed = UserVault::with_keys(store, None, &place.directories());
        let rotation = std::panic::AssertUnwindSafe(|| killed.rotate(UnreadableSecrets::Fail));
        assert!(std::panic::catch_unwind(rotation).is_err());
        assert_eq!(get(&place.vault(), &anna(), "TOKEN"), VALUE, "{is_done}");
        let rotation = place.vault().rotate(UnreadableSecrets::Fail).unwrap();
        assert_eq!(place.used_keys(), [rotation.key_id]);
        assert_eq!(get(&place.vault(), &anna(), "TOKEN"), VALUE, "{is_done}");
    }
}

#[test]
fn an_observer_learns_values_that_are_handed_out() {
    let place = Place::new();
    set(&place.vault(), &anna(), "TOKEN", VALUE);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let vault = place.vault();
    vault.set_observer(Arc::new(move |what, secret: &Secret| {
        sink.lock().unwrap().push((what, secret.reveal().to_owned()));
    }));
    get(&vault, &anna(), "TOKEN");
    get(&vault, &bob(), "TOKEN");
    assert_eq!(*seen.lock().unwrap(), [(HandedOut::Secret, VALUE.to_owned())]);
}
