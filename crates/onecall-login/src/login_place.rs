//! Where a login is stored: in a file of the person who runs onecall, or in the vault for a user of a
//! gateway.

use std::sync::Arc;

use onecall_core::UserName;
use reqwest::Url;

use crate::error::LoginError;
use crate::sealed_login::{LockedSealedLogin, SealedLogin};
use crate::user_vault::UserVault;
use crate::vault::{FileStamp, LockedFile, LoginFile, StoredLogin};

/// The place of one login.
#[derive(Clone, Debug)]
pub(crate) enum LoginPlace {
    File(LoginFile),
    Sealed(SealedLogin),
}

/// Whose login it is.
#[derive(Clone, Debug)]
pub(crate) enum LoginOwner {
    /// The person who runs onecall.
    Local,
    /// A user of the gateway.
    User(UserName, Arc<UserVault>),
}

/// Identifies a version of a stored login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    File(FileStamp),
    Sealed(Vec<u8>),
}

/// A locked login.
pub(crate) enum LockedLogin<'a> {
    File(LockedFile<'a>),
    Sealed(LockedSealedLogin<'a>),
}

impl LoginOwner {
    /// The owner with this name: the local user keeps logins in files.
    pub fn of(user: &UserName, vault: &Arc<UserVault>) -> Self {
        match user.is_local() {
            true => Self::Local,
            false => Self::User(user.clone(), Arc::clone(vault)),
        }
    }

    /// The place of the login to `server`; `None` if there is no state directory.
    pub fn place(&self, server: &Url, client_id: Option<&str>) -> Option<LoginPlace> {
        match self {
            Self::Local => LoginFile::of_user(server, client_id).map(LoginPlace::File),
            Self::User(user, vault) => {
                SealedLogin::of(vault, user, server, client_id).map(LoginPlace::Sealed)
            }
        }
    }
}

impl LoginPlace {
    /// The current version of the login; `None` if there is no login.
    pub fn stamp(&self) -> Option<Stamp> {
        match self {
            Self::File(file) => file.stamp().map(Stamp::File),
            Self::Sealed(login) => login.stamp().map(Stamp::Sealed),
        }
    }

    /// Reads the login, if there is one.
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        match self {
            Self::File(file) => file.read(),
            Self::Sealed(login) => login.read(),
        }
    }

    /// Locks the login against changes by other processes.
    pub async fn lock(&self) -> Result<LockedLogin<'_>, LoginError> {
        Ok(match self {
            Self::File(file) => LockedLogin::File(file.lock().await?),
            Self::Sealed(login) => LockedLogin::Sealed(login.lock().await?),
        })
    }

    /// Adds a token to the values that records and logs leave out.
    pub fn observe(&self, token: &str) {
        if let Self::Sealed(login) = self {
            login.observe(token);
        }
    }
}

impl LockedLogin<'_> {
    pub fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        match self {
            Self::File(file) => file.read(),
            Self::Sealed(login) => login.read(),
        }
    }

    pub fn write(&self, entry: &StoredLogin) -> Result<(), LoginError> {
        match self {
            Self::File(file) => file.write(entry),
            Self::Sealed(login) => login.write(entry),
        }
    }

    /// Deletes the login.
    pub fn remove(&self) -> Result<(), LoginError> {
        match self {
            Self::File(file) => file.remove(),
            Self::Sealed(login) => login.remove(),
        }
    }
}
