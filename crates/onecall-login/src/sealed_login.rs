//! The login of one user of the gateway to a server, encrypted in the vault of users. Processes that
//! change it hold a lock as they do for a login in a file, and the store refuses a change of a version
//! that is not the stored one.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::storage::{ReplacedVersion, UserSecretKey, UserSecretKind};
use onecall_core::{Secret, UserName};
use reqwest::Url;

use crate::error::LoginError;
use crate::user_vault::{HandedOut, UserVault, VaultError};
use crate::vault::{self, StoredLogin};

/// The login of a user in the vault.
#[derive(Clone, Debug)]
pub(crate) struct SealedLogin {
    vault: Arc<UserVault>,
    key: UserSecretKey,
    server: String,
    /// The file that is locked while the login is changed.
    lock: PathBuf,
}

impl SealedLogin {
    /// The login of `user` to `server` with the configured `client_id`, if there is one; `None` if the
    /// gateway has no state directory.
    pub fn of(
        vault: &Arc<UserVault>,
        user: &UserName,
        server: &Url,
        client_id: Option<&str>,
    ) -> Option<Self> {
        let name = vault::login_name(server, client_id).to_string();
        let key = UserSecretKey { user: user.clone(), kind: UserSecretKind::Login, name };
        let lock = vault.lock_file(&key)?;
        let server = server.as_str().to_owned();
        Some(Self { vault: Arc::clone(vault), key, server, lock })
    }

    /// Identifies the stored version; `None` if there is no login.
    pub fn stamp(&self) -> Option<Vec<u8>> {
        // Each encryption has a new nonce.
        self.vault.stored(&self.key).ok()?.map(|stored| stored.content.nonce)
    }

    /// Decrypts the login, if there is one.
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        let opened = self.vault.open(&self.key).map_err(|source| self.error(source))?;
        let Some(opened) = opened else { return Ok(None) };
        let damaged = |_| self.error(VaultError::Undecryptable { key: self.key.clone() });
        let entry: StoredLogin = serde_json::from_str(opened.value.reveal()).map_err(damaged)?;
        Ok(Some(entry).filter(|entry| entry.server == self.server))
    }

    /// Locks the login against changes by other processes.
    pub async fn lock(&self) -> Result<LockedSealedLogin<'_>, LoginError> {
        let locked = vault::open_locked(&self.lock).await;
        let lock = locked.map_err(|error| LoginError::Vault {
            path: self.lock.clone(),
            detail: error.to_string(),
        })?;
        let stored = self.vault.stored(&self.key).map_err(|source| self.error(source))?;
        let version = stored.map(|stored| stored.version);
        Ok(LockedSealedLogin { login: self, version, _lock: lock })
    }

    /// Adds the tokens of a login to the values that records and logs leave out.
    pub fn observe(&self, token: &str) {
        self.vault.observe(HandedOut::Token, &Secret::new(token));
    }

    fn error(&self, source: VaultError) -> LoginError {
        LoginError::UserVault { user: self.key.user.clone(), source }
    }
}

/// A locked login of a user.
pub(crate) struct LockedSealedLogin<'a> {
    login: &'a SealedLogin,
    /// The version when it was locked.
    version: Option<u64>,
    /// The lock is released when the file is closed.
    _lock: File,
}

impl LockedSealedLogin<'_> {
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        self.login.read()
    }

    /// Replaces the login, unless it was removed or changed since it was locked.
    pub fn write(&self, entry: &StoredLogin) -> Result<(), LoginError> {
        let SealedLogin { vault, key, .. } = self.login;
        let text = serde_json::to_string(entry).unwrap_or_default();
        let expected = ReplacedVersion::Exactly(self.version);
        let written = vault.seal(key, &Secret::new(text), expected);
        written.map(drop).map_err(|source| self.login.error(source))
    }

    /// Deletes the login.
    pub fn remove(&self) -> Result<(), LoginError> {
        let SealedLogin { vault, key, .. } = self.login;
        vault.remove(key).map(drop).map_err(|source| self.login.error(source))
    }
}

#[cfg(test)]
mod tests {
    use onecall_config::Directories;

    use super::*;
    use crate::Token;
    use crate::registration::{ClientAuthMethod, OAuthClient};
    use crate::token::Tokens;

    const SERVER: &str = "https://a.example/mcp";

    fn entry(token: &str) -> StoredLogin {
        StoredLogin {
            server: SERVER.to_owned(),
            resource: SERVER.to_owned(),
            issuer: None,
            token_endpoint: "https://a.example/token".to_owned(),
            revocation_endpoint: None,
            client: OAuthClient {
                id: "us".to_owned(),
                secret: None,
                proof: ClientAuthMethod::Nothing,
            },
            scopes: Vec::new(),
            wanted_scopes: Vec::new(),
            tokens: Some(Tokens { access: Token::new(token), refresh: None, life: None }),
        }
    }

    fn token(login: &SealedLogin) -> Option<String> {
        let tokens = login.read().unwrap()?.tokens?;
        Some(tokens.access.reveal().to_owned())
    }

    #[tokio::test]
    async fn a_login_that_was_removed_or_replaced_meanwhile_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().display().to_string();
        let directories = Directories::from_environment(&|name| {
            (name == "XDG_STATE_HOME").then(|| state.clone())
        });
        let store = onecall_store::open_durable(folder.path().join("store.db"), 1);
        let vault = Arc::new(UserVault::new(store, &directories));
        let login = |user: &str| {
            let url = Url::parse(SERVER).unwrap();
            SealedLogin::of(&vault, &UserName::parse(user).unwrap(), &url, None).unwrap()
        };
        let (anna, bob) = (login("anna"), login("bob"));
        let locked = anna.lock().await.unwrap();
        // The lock of another user is another one.
        bob.lock().await.unwrap().write(&entry("of bob")).unwrap();
        locked.write(&entry("first")).unwrap();
        // It was locked when there was no login, so it cannot replace one.
        let conflict = locked.write(&entry("second")).unwrap_err().to_string();
        assert!(
            conflict.contains("has changed a login of user 'anna' in the meantime"),
            "{conflict}"
        );
        drop(locked);
        let before = anna.stamp();
        let locked = anna.lock().await.unwrap();
        // An administrator removes the user while the token is being renewed.
        vault.remove_user(&UserName::parse("anna").unwrap()).unwrap();
        assert!(locked.write(&entry("renewed")).is_err());
        drop(locked);
        assert_eq!((token(&anna), anna.stamp()), (None, None));
        assert!(before.is_some());
        assert_eq!(token(&bob).as_deref(), Some("of bob"));
    }
}
