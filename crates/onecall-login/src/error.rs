//! The errors of logins and of requests that need a token. They contain no secrets, and text from
//! outside in them is short and safe to show.

use std::path::PathBuf;
use std::time::Duration;

use onecall_core::storage::StoreError;
use onecall_core::{ServerName, UserName};
use thiserror::Error;

use crate::user_vault::VaultError;

/// Why a request cannot be made with a login. Other requests are not affected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// The user has to log in.
    #[error("server '{server}' {advice}")]
    NeedsLogin {
        /// The server.
        server: ServerName,
        /// What the user should do.
        advice: String,
    },
    /// The user has to log in again, with more rights.
    #[error(
        "the login does not allow this{}; run `{command}` to log in again with it",
        scopes(missing)
    )]
    NeedsScope {
        /// The scopes that the token lacks, as far as the server names them.
        missing: String,
        /// The command that asks for them.
        command: String,
    },
    /// A user of the gateway has to log in again, with more rights.
    #[error("the login of user '{user}' does not allow this{}", scopes(missing))]
    UserNeedsScope {
        /// The scopes that the token lacks, as far as the server names them.
        missing: String,
        /// The user.
        user: UserName,
    },
    /// The token has expired and could not be replaced; nothing was sent.
    #[error(
        "onecall did not send the request, because it could not replace the token for it: {detail}"
    )]
    NoToken {
        /// The reason.
        detail: String,
    },
}

fn scopes(missing: &str) -> String {
    if missing.is_empty() { String::new() } else { format!(" (missing scope: {missing})") }
}

/// Why a login or a logout failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server is a local process, which gets its credentials from its environment.
    #[error(
        "server '{server}' is a program on this machine; only servers with a 'url' have logins"
    )]
    NotRemote {
        /// The server.
        server: ServerName,
    },
    /// The entry refers to variables that are not set.
    #[error("server '{server}' cannot be used: {reason}")]
    Unresolved {
        /// The server.
        server: ServerName,
        /// The names of the variables, and what to do.
        reason: String,
    },
    /// The configuration already contains credentials.
    #[error(
        "the entry of server '{server}' already has credentials (an Authorization header, or a \
         user in 'url'); remove them to log in instead"
    )]
    Configured {
        /// The server.
        server: ServerName,
    },
    /// The server requires no login.
    #[error("server '{server}' does not ask for a login; see `onecall check`")]
    NotAsked {
        /// The server.
        server: ServerName,
    },
    /// The server could not be asked whether it requires a login.
    #[error("cannot ask server '{server}' how to log in: {detail}")]
    NotReached {
        /// The server.
        server: ServerName,
        /// The reason.
        detail: String,
    },
    /// A token would be sent over an unencrypted connection.
    #[error(
        "{origin} is not https, so no token may go there; only https is accepted, or http on this \
         machine for a server on this machine"
    )]
    Insecure {
        /// The origin to which it would have been sent.
        origin: String,
    },
    /// A text that should be an address is not one.
    #[error("'{text}' is not a valid address for a login")]
    NoAddress {
        /// The text.
        text: String,
    },
    /// The metadata describe another server.
    #[error(
        "the server describes itself as {resource}, which is not its address; a token for that \
         would not be for this server"
    )]
    ForeignResource {
        /// The resource that the metadata name.
        resource: String,
    },
    /// No usable metadata were found.
    #[error("{issuer} does not publish how to log in: {detail}")]
    NoMetadata {
        /// The authorization server, or the server itself.
        issuer: String,
        /// The reason.
        detail: String,
    },
    /// The metadata describe another authorization server.
    #[error(
        "{issuer} describes itself as {found}, so a login could go to the wrong one; if {found} \
         is where you log in, set 'issuer' under 'oauth' in the server's entry to it"
    )]
    ForeignIssuer {
        /// The authorization server.
        issuer: String,
        /// The issuer that the metadata name.
        found: String,
    },
    /// The server names no authorization server that the configuration allows.
    #[error(
        "the server wants a login at {named}, and 'issuer' under 'oauth' in its entry allows only \
         {configured}"
    )]
    OtherIssuer {
        /// The authorization server of the configuration.
        configured: String,
        /// The authorization server that the server names.
        named: String,
    },
    /// The authorization server has endpoints on other origins, which may be an attempt to
    /// intercept logins of another server.
    #[error(
        "{issuer}, where server '{server}' wants a login, uses other origins for it ({endpoints}), \
         which could take a login that is meant for one of them; if they belong together, set \
         'issuer: {issuer}' under 'oauth' in the server's entry"
    )]
    ForeignEndpoints {
        /// The server to log in to.
        server: ServerName,
        /// The authorization server.
        issuer: String,
        /// The endpoints on other origins.
        endpoints: String,
    },
    /// The configured client secret would be sent to an authorization server that the configuration
    /// does not name.
    #[error(
        "the 'client_secret' of server '{server}' would go to {issuer}, which only the server \
         names; if you registered onecall there, set 'issuer: {issuer}' under 'oauth' in \
         the server's entry"
    )]
    SecretForIssuer {
        /// The server to log in to.
        server: ServerName,
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server does not support PKCE. Without it, a stolen code is enough to log
    /// in.
    #[error("{issuer} does not support PKCE with S256, without which a login is not safe")]
    NoPkce {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server does not support dynamic client registration.
    #[error(
        "{issuer} does not register clients by itself; register onecall there and give its \
         'client_id' under 'oauth' in the server's entry"
    )]
    NoRegistration {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server rejected the registration.
    #[error(
        "{issuer} did not register onecall: {detail}; register it there yourself and give its \
         'client_id' under 'oauth' in the server's entry"
    )]
    NotRegistered {
        /// The authorization server.
        issuer: String,
        /// The reason that it gave.
        detail: String,
    },
    /// The listener for the browser could not be opened.
    #[error(
        "cannot listen on 127.0.0.1 port {port} for the browser: {source}; see 'redirect_port'"
    )]
    NoListener {
        /// The port; 0 means any free port.
        port: u16,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The system provides no random numbers.
    #[error("cannot read /dev/urandom: {0}")]
    NoRandomness(std::io::Error),
    /// The browser did not return in time.
    #[error("no login within {}s; try again, or give more time with --timeout", limit.as_secs_f64())]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// The response does not name its issuer, although the authorization server promises to.
    #[error(
        "the answer in the browser does not name {issuer}, which promises to name itself; the answer \
         may be forged"
    )]
    UnnamedIssuer {
        /// The authorization server.
        issuer: String,
    },
    /// The response names another issuer.
    #[error("the answer in the browser names {found}, not {issuer}; the answer may be forged")]
    WrongIssuer {
        /// The authorization server that was asked.
        issuer: String,
        /// The issuer that the response names.
        found: String,
    },
    /// The user or the authorization server denied the login.
    #[error("the authorization server refused the login: {detail}")]
    Denied {
        /// The reason that was given.
        detail: String,
    },
    /// The response contains neither a code nor an error.
    #[error("the answer in the browser has no code; try again")]
    NoCode,
    /// The code could not be exchanged for a token.
    #[error("{issuer} gave no token: {detail}")]
    NoToken {
        /// The authorization server.
        issuer: String,
        /// The reason that it gave.
        detail: String,
    },
    /// There is no state directory to store tokens in.
    #[error(
        "onecall cannot find your state directory, where logins are stored: set HOME or XDG_STATE_HOME"
    )]
    NoVault,
    /// The login of a user in the vault cannot be used.
    #[error("cannot use the login of {}: {source}", owner(user))]
    UserVault {
        /// The user.
        user: UserName,
        /// The reason.
        source: VaultError,
    },
    /// Another process keeps the login locked.
    #[error("another process has been changing the login to '{server}' for too long; try again")]
    Locked {
        /// The address of the server.
        server: String,
    },
    /// The process is ending.
    #[error("onecall is ending")]
    Ending,
    /// The file for tokens cannot be used.
    #[error("cannot use '{path}': {detail}", path = path.display())]
    Vault {
        /// The file.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
}

impl LoginError {
    /// Whether the login is in a store that may answer later.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::UserVault { source: VaultError::Store(StoreError::Unreachable { .. }), .. }
        )
    }
}

/// The owner of a login in messages.
fn owner(user: &UserName) -> String {
    match user.is_local() {
        true => "the gateway".to_owned(),
        false => format!("user '{user}'"),
    }
}
