//! Where a login is stored: in a file of the person who runs onecall, or in the vault.

use std::sync::Arc;

use onecall_core::UserName;
use reqwest::Url;

use crate::error::LoginError;
use crate::sealed_login::{LockedSealedLogin, SealedLogin};
use crate::user_vault::{SealedVersion, UserVault};
use crate::vault::{FileStamp, LockedFile, LoginFile, StoredLogin};

/// The place of one login.
#[derive(Clone, Debug)]
pub(crate) enum LoginPlace {
    File(LoginFile),
    Sealed(SealedLogin),
}

/// Whose login it is, and where it is stored.
#[derive(Clone, Debug)]
pub(crate) enum LoginOwner {
    /// The person who runs onecall, who keeps logins in files.
    Local,
    /// A user of the gateway, or the local user if that one's logins are in the vault, too.
    InVault(UserName, Arc<UserVault>),
}

/// Identifies a version of a stored login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// There is no login.
    #[default]
    Missing,
    File(FileStamp),
    Sealed(Vec<u8>),
}

impl From<SealedVersion> for Stamp {
    fn from(version: SealedVersion) -> Self {
        match version {
            SealedVersion::Missing => Self::Missing,
            SealedVersion::Nonce(nonce) => Self::Sealed(nonce),
        }
    }
}

/// A locked login.
pub(crate) enum LockedLogin {
    File(LockedFile),
    Sealed(LockedSealedLogin),
}

impl LoginOwner {
    /// The owner with this name.
    pub fn of(user: &UserName, vault: &Arc<UserVault>) -> Self {
        match user.is_local() && !vault.keeps_local_logins() {
            true => Self::Local,
            false => Self::InVault(user.clone(), Arc::clone(vault)),
        }
    }

    /// The person who runs onecall, for servers that all users share.
    pub fn local(vault: Option<&Arc<UserVault>>) -> Self {
        vault.map_or(Self::Local, |vault| Self::of(&UserName::local(), vault))
    }

    /// The place of the login to `server`; `None` if there is no state directory.
    pub fn place(&self, server: &Url, client_id: Option<&str>) -> Option<LoginPlace> {
        match self {
            Self::Local => LoginFile::of_user(server, client_id).map(LoginPlace::File),
            Self::InVault(user, vault) => {
                Some(LoginPlace::Sealed(SealedLogin::of(vault, user, server, client_id)))
            }
        }
    }
}

impl LoginPlace {
    /// The version of the login that was last seen; `None` if none was read yet. This never waits. What is
    /// in the vault may have changed within the last second.
    pub fn last_seen_stamp(&self) -> Option<Stamp> {
        match self {
            Self::File(file) => Some(file.stamp().map_or(Stamp::Missing, Stamp::File)),
            Self::Sealed(login) => login.last_seen_version().map(Stamp::from),
        }
    }

    /// Reads which version of the login is stored.
    pub async fn read_stamp(&self) -> Result<Stamp, LoginError> {
        Ok(match self {
            Self::File(file) => file.stamp().map_or(Stamp::Missing, Stamp::File),
            Self::Sealed(login) => login.read_version().await?.into(),
        })
    }

    /// Reads the login, if there is one, and its version.
    pub async fn read(&self) -> Result<(Stamp, Option<StoredLogin>), LoginError> {
        match self {
            Self::File(file) => {
                // The stamp is read first, so that a change in the meantime is noticed at the next check.
                let stamp = file.stamp().map_or(Stamp::Missing, Stamp::File);
                Ok((stamp, file.read()?))
            }
            Self::Sealed(login) => {
                let (version, entry) = login.read().await?;
                Ok((version.into(), entry))
            }
        }
    }

    /// Locks the login against changes by other processes.
    pub async fn lock(&self) -> Result<LockedLogin, LoginError> {
        Ok(match self {
            Self::File(file) => LockedLogin::File(file.lock().await?),
            Self::Sealed(login) => LockedLogin::Sealed(login.lock().await?),
        })
    }

    /// Moves a login from the place where earlier versions of onecall kept it to this one.
    pub async fn take_over_earlier(&self) -> Result<(), LoginError> {
        match self {
            Self::File(_) => Ok(()),
            Self::Sealed(login) => login.take_over_file().await,
        }
    }

    /// Adds a token to the values that records and logs leave out.
    pub fn observe(&self, token: &str) {
        if let Self::Sealed(login) = self {
            login.observe(token);
        }
    }
}

impl LockedLogin {
    pub async fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        match self {
            Self::File(file) => file.read(),
            Self::Sealed(login) => Ok(login.read().await?.1),
        }
    }

    /// Replaces the login, and returns the new version.
    pub async fn write(&self, entry: &StoredLogin) -> Result<Stamp, LoginError> {
        match self {
            Self::File(file) => {
                file.write(entry)?;
                Ok(file.stamp().map_or(Stamp::Missing, Stamp::File))
            }
            Self::Sealed(login) => Ok(login.write(entry).await?.into()),
        }
    }

    /// Deletes the login.
    pub async fn remove(&self) -> Result<(), LoginError> {
        match self {
            Self::File(file) => file.remove(),
            Self::Sealed(login) => login.remove().await,
        }
    }
}
