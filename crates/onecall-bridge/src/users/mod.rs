//! Servers that run with the credentials of one user: how they are described here, how many of them may
//! run over all users (`processes`), and the bridge that a user has (`bridge`).

mod bridge;
pub(crate) mod processes;

pub(crate) use bridge::SharedServers;
pub use processes::UserProcesses;

use std::fmt;
use std::sync::Arc;

use onecall_config::ServerConfig;
use onecall_core::UserName;
use onecall_login::Login;

/// What the own servers of one user have in common.
#[derive(Clone, Debug)]
pub struct UserServers {
    /// The user whose credentials the servers run with.
    pub user: UserName,
    /// The places for such servers, which all users of the gateway share.
    pub processes: UserProcesses,
}

/// A server that runs with the credentials of one user.
#[derive(Clone)]
pub struct UserServer {
    /// The entry of the configuration, with the values of the user filled in.
    pub config: ServerConfig,
    /// Where the credentials come from.
    pub credentials: UserCredentials,
    /// What the user has to do if the credentials are missing or rejected.
    pub hint: AccessHint,
}

/// The credentials of a user for one server.
#[derive(Clone)]
pub enum UserCredentials {
    /// The environment or the headers of the entry contain them.
    InEntry,
    /// The user logs in to the server. The login must be that of this user alone.
    Login(Arc<Login>),
    /// The user has not provided them yet. The server is known by its name and is never started.
    Missing,
}

/// Makes the text that says what a user has to do to get access to a server. It continues a sentence that
/// begins with the name of the server, such as "needs login; open https://… and try again".
///
/// The text is made anew for each error and each status that shows it, so making it must be cheap: a link
/// that still works should be used again. It is not written to a log, so it may contain a link that is
/// meant for this user only.
#[derive(Clone)]
pub struct AccessHint(Arc<dyn Fn() -> String + Send + Sync>);

impl AccessHint {
    /// A hint that `make_text` makes whenever it is shown.
    pub fn new(make_text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make_text))
    }

    /// The text of the hint.
    #[must_use]
    pub fn text(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for UserServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("UserServer");
        fields.field("config", &self.config).field("credentials", &self.credentials);
        fields.finish_non_exhaustive()
    }
}

impl fmt::Debug for UserCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::InEntry => "InEntry",
            Self::Login(_) => "Login",
            Self::Missing => "Missing",
        })
    }
}

/// The user that a server belongs to.
pub(crate) struct ServerOwner {
    pub servers: UserServers,
    pub credentials: UserCredentials,
    pub hint: AccessHint,
}

impl ServerOwner {
    /// Whether the server cannot be started, because the user has not provided credentials.
    pub fn lacks_credentials(&self) -> bool {
        matches!(self.credentials, UserCredentials::Missing)
    }

    /// Whether the credentials are the same: an equal entry with them needs no restart.
    pub fn has_same_credentials(&self, others: &UserCredentials) -> bool {
        match (&self.credentials, others) {
            (UserCredentials::Login(own), UserCredentials::Login(other)) => Arc::ptr_eq(own, other),
            (UserCredentials::InEntry, UserCredentials::InEntry)
            | (UserCredentials::Missing, UserCredentials::Missing) => true,
            _ => false,
        }
    }
}
