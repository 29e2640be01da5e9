//! The vault of logins: one file for each login in the user's state directory, readable by the user
//! only. Several processes may use one login; a process that changes it holds its lock, so that a
//! renewed token is never lost.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use onecall_config::{Directories, OAuthConfig, check_own_file, check_own_folder};
use onecall_core::{Digest, DigestBuilder};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::Token;
use crate::discovery::is_same_issuer;
use crate::error::LoginError;
use crate::registration::OAuthClient;
use crate::token::Tokens;

/// How long to wait for another process that holds the lock: longer than the renewal of a token
/// takes.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(40);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The largest file that is read.
const MAX_FILE: u64 = 1024 * 1024;

/// The permissions of files and folders: only the owner has access.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A stored login.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    /// The only server that the tokens are for.
    pub server: String,
    pub resource: String,
    /// The issuer of the tokens.
    pub issuer: Option<String>,
    pub token_endpoint: String,
    pub revocation_endpoint: Option<String>,
    pub client: OAuthClient,
    /// The granted scopes, as far as they are known.
    pub scopes: Vec<String>,
    /// Further scopes that the server has required.
    #[serde(default)]
    pub wanted_scopes: Vec<String>,
    /// `None` once the tokens are invalid.
    pub tokens: Option<Tokens>,
}

impl StoredLogin {
    /// Whether the issuer of the tokens is one that the configuration allows.
    pub fn is_allowed(&self, settings: &OAuthConfig) -> bool {
        let is_same =
            |allowed| self.issuer.as_deref().is_some_and(|it| is_same_issuer(it, allowed));
        settings.issuer.as_deref().is_none_or(is_same)
    }

    /// The client to use at the authorization server. The configured secret is used only for the
    /// issuer that the configuration allows.
    pub fn client(&self, settings: &OAuthConfig) -> OAuthClient {
        let mut client = self.client.clone();
        if let Some(secret) = settings.client_secret.as_ref().filter(|_| self.is_allowed(settings))
        {
            client.secret = Some(Token::new(secret.reveal()));
        }
        client
    }
}

/// The file of one login in the vault, with its lock file.
#[derive(Clone, Debug)]
pub(crate) struct LoginFile {
    file: PathBuf,
    lock: PathBuf,
    server: String,
}

/// Identifies a version of a stored login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    changed: (i64, i64),
}

impl LoginFile {
    /// The file of the login to `server` with the configured `client_id`, if there is one; `None`
    /// if the user has no state directory.
    pub fn of_user(server: &Url, client_id: Option<&str>) -> Option<Self> {
        let state = Directories::from_environment(&|name| std::env::var(name).ok()).state?;
        Some(Self::in_state_directory(&state, server, client_id))
    }

    fn in_state_directory(state: &Path, server: &Url, client_id: Option<&str>) -> Self {
        let folder = state.join("onecall").join("logins");
        let name = login_name(server, client_id);
        Self {
            file: folder.join(format!("{name}.json")),
            lock: folder.join(format!("{name}.lock")),
            server: server.as_str().to_owned(),
        }
    }

    /// The current version of the login; `None` if there is no login.
    pub fn stamp(&self) -> Option<FileStamp> {
        let metadata = fs::metadata(&self.file).ok()?;
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        Some(FileStamp { inode: metadata.ino(), changed })
    }

    /// Reads the login, if there is one.
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        let text = match self.read_bytes() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| self.error(error.to_string()))?,
        };
        let entry: StoredLogin = serde_json::from_slice(&text)
            .map_err(|_| self.error("it is damaged; delete it and log in again".to_owned()))?;
        // The file name is only a hash of the server, so the server is checked.
        Ok(Some(entry).filter(|entry| entry.server == self.server))
    }

    fn read_bytes(&self) -> io::Result<Vec<u8>> {
        check_own_folder(self.folder())?;
        check_own_file(&self.file)?;
        let file = OpenOptions::new().read(true).open(&self.file)?;
        let metadata = file.metadata()?;
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            warn!(
                "other users could read '{}', and onecall has removed their access; a user who has \
                 read it can use its login until you end it with `onecall logout`",
                self.file.display()
            );
        }
        let mut text = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Locks the login against changes by other processes.
    pub async fn lock(&self) -> Result<LockedFile, LoginError> {
        let locked = open_locked(&self.lock).await;
        let lock = locked.map_err(|error| self.error(error.to_string()))?;
        Ok(LockedFile { login_file: self.clone(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    fn error(&self, detail: String) -> LoginError {
        LoginError::Vault { path: self.file.clone(), detail }
    }
}

/// The name of a login: a digest of the server and the configured client id.
pub(crate) fn login_name(server: &Url, client_id: Option<&str>) -> Digest {
    let mut hasher = DigestBuilder::default();
    hasher.add(server.as_str());
    hasher.add([0]);
    hasher.add(client_id.unwrap_or_default());
    hasher.finish()
}

/// Opens and locks a file in a folder that only the owner can use. Waits while another process has the
/// lock.
async fn open_locked(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    check_own_folder(folder)?;
    check_own_file(path)?;
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))?;
    }
    let file = OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(path)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::other("another process keeps it locked"));
            }
            Err(TryLockError::WouldBlock) => sleep(LOCK_POLL_INTERVAL).await,
        }
    }
}

/// A locked login.
pub(crate) struct LockedFile {
    login_file: LoginFile,
    /// The lock is released when the file is closed.
    _lock: File,
}

impl LockedFile {
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        self.login_file.read()
    }

    /// The current version of the login; `None` if there is no login.
    pub fn stamp(&self) -> Option<FileStamp> {
        self.login_file.stamp()
    }

    /// Replaces the login atomically: a reader sees the old or the new one.
    pub fn write(&self, entry: &StoredLogin) -> Result<(), LoginError> {
        let replace = || -> io::Result<()> {
            let folder = self.login_file.folder();
            // The temporary file is created with access for the owner only.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, entry)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(&self.login_file.file).map_err(|error| error.error)?;
            Ok(())
        };
        replace().map_err(|error| self.login_file.error(error.to_string()))
    }

    /// Deletes the login. The lock file stays, because other processes may be waiting for it.
    pub fn remove(&self) -> Result<(), LoginError> {
        match fs::remove_file(&self.login_file.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.login_file.error(error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::ClientAuthMethod;

    fn login_file(state: &Path, server: &str, client: Option<&str>) -> LoginFile {
        LoginFile::in_state_directory(state, &Url::parse(server).unwrap(), client)
    }

    fn entry(server: &str) -> StoredLogin {
        StoredLogin {
            server: server.to_owned(),
            resource: server.to_owned(),
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
            tokens: Some(Tokens { access: Token::new("secret"), refresh: None, life: None }),
        }
    }

    #[tokio::test]
    async fn a_login_is_for_one_address_and_client() {
        let state = tempfile::tempdir().unwrap();
        let here = login_file(state.path(), "https://a.example/mcp", None);
        here.lock().await.unwrap().write(&entry("https://a.example/mcp")).unwrap();
        let others = [
            ("https://a.example/mcp2", None),
            ("https://a.example:8443/mcp", None),
            ("https://b.example/mcp", None),
            ("https://a.example/mcp?team=2", None),
            ("https://a.example/mcp", Some("me")),
        ];
        assert!(here.read().unwrap().is_some());
        for (server, client) in others {
            let other = login_file(state.path(), server, client);
            assert!(other.read().unwrap().is_none(), "{server}");
            // Not even if the file is put in its place.
            fs::copy(&here.file, &other.file).unwrap();
            assert_eq!(other.read().unwrap().is_some(), client.is_some(), "{server}");
        }
    }

    #[tokio::test]
    async fn a_login_that_is_changed_is_changed_by_one() {
        let state = tempfile::tempdir().unwrap();
        let login_file = login_file(state.path(), "https://a.example/", None);
        assert_eq!(login_file.stamp(), None);
        let locked = login_file.lock().await.unwrap();
        let waiting = tokio::time::timeout(LOCK_POLL_INTERVAL * 4, login_file.lock()).await;
        assert!(waiting.is_err(), "two hold it");
        locked.write(&entry("https://a.example/")).unwrap();
        drop(locked);
        let locked = login_file.lock().await.unwrap();
        let before = login_file.stamp();
        locked.write(&entry("https://a.example/")).unwrap();
        assert_ne!(login_file.stamp(), before);
        locked.remove().unwrap();
        locked.remove().unwrap();
        assert_eq!(login_file.stamp(), None);
    }

    #[tokio::test]
    async fn a_login_that_another_user_could_have_made_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let login_file = login_file(state.path(), "https://a.example/", None);
        login_file.lock().await.unwrap().write(&entry("https://a.example/")).unwrap();
        let folder = login_file.folder().to_owned();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        for (path, opened) in [(&folder, 0o777), (&login_file.file, 0o622)] {
            let before = mode(path);
            open(path, opened).unwrap();
            let error = login_file.read().unwrap_err().to_string();
            assert!(error.contains("other users can write to"), "{error}");
            assert_eq!(mode(path), opened, "it was changed");
            open(path, before).unwrap();
        }
        assert!(login_file.read().unwrap().is_some());
        // Only root can give files away.
        if folder.metadata().unwrap().uid() != 0 {
            return;
        }
        for path in [&folder, &login_file.file] {
            std::os::unix::fs::chown(path, Some(65534), None).unwrap();
            let error = login_file.read().unwrap_err().to_string();
            assert!(error.contains("belongs to another user (uid 65534)"), "{error}");
            if path == &folder {
                open(path, 0o755).unwrap();
                assert!(login_file.lock().await.is_err());
                assert_eq!(mode(path), 0o755, "it was changed");
            }
            std::os::unix::fs::chown(path, Some(0), None).unwrap();
        }
    }
}
