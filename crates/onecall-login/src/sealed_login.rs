//! A login to a server that is encrypted in the vault of a gateway: the login of one user, or the one that
//! all users of several gateways share. Processes that change it hold its lock in the store, and the store
//! refuses a change of a version that is not the stored one.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{ReplacedVersion, SecretLock, UserSecretKey, UserSecretKind};
use onecall_core::{Secret, UserName};
use reqwest::Url;
use tokio::time::{Instant, sleep};
use tracing::info;

use crate::error::LoginError;
use crate::user_vault::{HandedOut, SealedVersion, UserVault, VaultError};
use crate::vault::{self, LOCK_TIMEOUT, LoginFile, StoredLogin};

/// The pause between two attempts to lock a login.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A login in the vault.
#[derive(Clone, Debug)]
pub(crate) struct SealedLogin {
    vault: Arc<UserVault>,
    key: UserSecretKey,
    server: String,
    /// The file that had the login before logins were kept in the vault, unless it belongs to a user.
    earlier_file: Option<LoginFile>,
}

impl SealedLogin {
    /// The login of `user` to `server` with the configured `client_id`, if there is one.
    pub fn of(
        vault: &Arc<UserVault>,
        user: &UserName,
        server: &Url,
        client_id: Option<&str>,
    ) -> Self {
        let name = vault::login_name(server, client_id).to_string();
        let key = UserSecretKey { user: user.clone(), kind: UserSecretKind::Login, name };
        let earlier_file = user.is_local().then(|| LoginFile::of_user(server, client_id)).flatten();
        let server = server.as_str().to_owned();
        Self { vault: Arc::clone(vault), key, server, earlier_file }
    }

    /// The version that was last seen; `None` if none was read yet. This does not wait for the store.
    pub fn last_seen_version(&self) -> Option<SealedVersion> {
        self.vault.last_seen_login(&self.key)
    }

    /// Decrypts the login, if there is one, and returns it with its version.
    pub async fn read(&self) -> Result<(SealedVersion, Option<StoredLogin>), LoginError> {
        self.with_vault(Self::read_now).await
    }

    fn read_now(&self) -> Result<(SealedVersion, Option<StoredLogin>), VaultError> {
        let (version, value) = self.vault.open_login(&self.key)?;
        let Some(value) = value else { return Ok((version, None)) };
        let damaged = |_| VaultError::Undecryptable { key: self.key.clone() };
        let entry: StoredLogin = serde_json::from_str(value.reveal()).map_err(damaged)?;
        Ok((version, Some(entry).filter(|entry| entry.server == self.server)))
    }

    /// Reads which version is stored.
    pub async fn read_version(&self) -> Result<SealedVersion, LoginError> {
        let read = |login: &Self| login.vault.stored_login(&login.key);
        Ok(self.with_vault(read).await?.0)
    }

    /// Locks the login against changes by other processes, of this machine and others.
    pub async fn lock(&self) -> Result<LockedSealedLogin, LoginError> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let lock = loop {
            let attempt = |login: &Self| login.vault.try_lock(&login.key);
            if let Some(lock) = self.with_vault(attempt).await? {
                break lock;
            }
            if Instant::now() >= deadline {
                return Err(LoginError::Locked { server: self.server.clone() });
            }
            sleep(LOCK_POLL_INTERVAL).await;
        };
        let read = |login: &Self| login.vault.stored_login(&login.key);
        let (_, number) = self.with_vault(read).await?;
        Ok(LockedSealedLogin { login: self.clone(), number, _lock: lock })
    }

    /// Moves a login that is in a file of this machine into the vault. If the vault has a login already,
    /// the one in the file is given up.
    pub async fn take_over_file(&self) -> Result<(), LoginError> {
        let Some(file) = self.earlier_file.as_ref().filter(|file| file.stamp().is_some()) else {
            return Ok(());
        };
        // A process of an earlier version may be renewing its token.
        let locked_file = file.lock().await?;
        let locked = self.lock().await?;
        let Some(entry) = locked_file.read()? else { return Ok(()) };
        let (server, file) = (&self.server, file.path().display());
        if locked.number.is_none() {
            locked.write(&entry).await?;
            info!(server, "the login in '{file}' is in the store now; the file is removed");
        } else {
            info!(server, "the store has a login, so the one in '{file}' is removed");
        }
        locked_file.remove()
    }

    /// Adds the tokens of a login to the values that records and logs leave out.
    pub fn observe(&self, token: &str) {
        self.vault.observe(HandedOut::Token, &Secret::new(token));
    }

    /// Calls `work`, which may wait for the store, on a thread that may wait.
    async fn with_vault<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, LoginError> {
        let login = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&login)).await;
        let done = done.map_err(|_| LoginError::Ending)?;
        done.map_err(|source| LoginError::UserVault { user: self.key.user.clone(), source })
    }
}

/// A locked login.
pub(crate) struct LockedSealedLogin {
    login: SealedLogin,
    /// The number of the version when it was locked.
    number: Option<u64>,
    _lock: Box<dyn SecretLock>,
}

impl LockedSealedLogin {
    pub async fn read(&self) -> Result<(SealedVersion, Option<StoredLogin>), LoginError> {
        self.login.read().await
    }

    /// Replaces the login, unless it was removed or changed since it was locked. Returns the new version.
    pub async fn write(&self, entry: &StoredLogin) -> Result<SealedVersion, LoginError> {
        let text = Secret::new(serde_json::to_string(entry).unwrap_or_default());
        let expected = ReplacedVersion::Exactly(self.number);
        let write = move |login: &SealedLogin| login.vault.seal_login(&login.key, &text, expected);
        self.login.with_vault(write).await
    }

    /// Deletes the login.
    pub async fn remove(&self) -> Result<(), LoginError> {
        self.login.with_vault(|login| login.vault.remove_login(&login.key)).await
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

    async fn token(login: &SealedLogin) -> Option<String> {
        let tokens = login.read().await.unwrap().1?.tokens?;
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
            SealedLogin::of(&vault, &UserName::parse(user).unwrap(), &url, None)
        };
        let (anna, bob) = (login("anna"), login("bob"));
        let locked = anna.lock().await.unwrap();
        // The lock of another user is another one.
        bob.lock().await.unwrap().write(&entry("of bob")).await.unwrap();
        let first = locked.write(&entry("first")).await.unwrap();
        // It was locked when there was no login, so it cannot replace one.
        let conflict = locked.write(&entry("second")).await.unwrap_err().to_string();
        assert!(
            conflict.contains("has changed a login of user 'anna' in the meantime"),
            "{conflict}"
        );
        let waiting = tokio::time::timeout(LOCK_POLL_INTERVAL * 4, anna.lock()).await;
        assert!(waiting.is_err(), "two hold it");
        drop(locked);
        assert_eq!(anna.read_version().await.unwrap(), first);
        let locked = anna.lock().await.unwrap();
        // An administrator removes the user while the token is being renewed.
        vault.remove_user(&UserName::parse("anna").unwrap()).unwrap();
        assert!(locked.write(&entry("renewed")).await.is_err());
        drop(locked);
        assert_eq!(token(&anna).await, None);
        assert_eq!(anna.read_version().await.unwrap(), SealedVersion::Missing);
        assert_eq!(token(&bob).await.as_deref(), Some("of bob"));
    }
}
