//! Why nobody was logged in, and why a request has no token. Nothing in these errors is secret, and
//! what others said in them is short and safe to show.

use std::path::PathBuf;
use std::time::Duration;

use onecall_core::ServerName;
use thiserror::Error;

/// Why a request cannot be made with a login. It concerns no other request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// A person has to log in.
    #[error("server '{server}' {advice}")]
    NeedsLogin {
        /// The server.
        server: ServerName,
        /// What to do.
        advice: String,
    },
    /// A person has to log in again, with more rights.
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
    /// The token has ended, and a new one could not be had; nothing was sent.
    #[error("the request was not sent, because the token for it could not be replaced: {detail}")]
    NoToken {
        /// What happened.
        detail: String,
    },
}

fn scopes(missing: &str) -> String {
    if missing.is_empty() { String::new() } else { format!(" (missing scope: {missing})") }
}

/// Why a login, or the end of one, did not work out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// It is started by us, and gets what it needs in its environment.
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
        /// Which variables, and what to do.
        reason: String,
    },
    /// The configuration says already who asks.
    #[error(
        "server '{server}' is used with what its entry says (an Authorization header, or a user in \
         'url'); remove that to log in instead"
    )]
    Configured {
        /// The server.
        server: ServerName,
    },
    /// It lets everybody in.
    #[error("server '{server}' does not ask for a login; see `onecall check`")]
    NotAsked {
        /// The server.
        server: ServerName,
    },
    /// It does not answer as a server should that wants a login.
    #[error("server '{server}' cannot be asked how to log in: {detail}")]
    NotReached {
        /// The server.
        server: ServerName,
        /// What happened.
        detail: String,
    },
    /// A token would cross the network in the clear.
    #[error(
        "{origin} is not https, so no token may go there; only https is accepted, or http on this \
         machine for a server on this machine"
    )]
    Insecure {
        /// Where it would have gone.
        origin: String,
    },
    /// Something that should be an address is none.
    #[error("'{text}' is not a valid address for a login")]
    NoAddress {
        /// What it is.
        text: String,
    },
    /// The description is of something else.
    #[error(
        "the server describes itself as {resource}, which is not its address; a token for that \
         would not be for this server"
    )]
    ForeignResource {
        /// What it calls itself.
        resource: String,
    },
    /// Nobody says where to log in.
    #[error("{issuer} does not publish how to log in: {detail}")]
    NoMetadata {
        /// The authorization server, or the server itself.
        issuer: String,
        /// What was found instead.
        detail: String,
    },
    /// The description is of another authorization server.
    #[error(
        "{issuer} describes itself as {found}, so a login could go to the wrong one; if {found} \
         is where you log in, set 'issuer' under 'oauth' in the server's entry to it"
    )]
    ForeignIssuer {
        /// The authorization server.
        issuer: String,
        /// What it calls itself.
        found: String,
    },
    /// The server names none that the configuration allows.
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
    /// An authorization server that sends codes or tokens to other origins may be after the
    /// logins of another one.
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
        /// What is elsewhere, and where.
        endpoints: String,
    },
    /// It is not known for whom a secret of the configuration is.
    #[error(
        "the 'client_secret' of server '{server}' would go to {issuer}, which is what the server \
         says; if that is where onecall was registered, set 'issuer: {issuer}' under 'oauth' in \
         the server's entry"
    )]
    SecretForIssuer {
        /// The server to log in to.
        server: ServerName,
        /// The authorization server.
        issuer: String,
    },
    /// Without PKCE, a stolen code is a stolen login.
    #[error("{issuer} does not support PKCE with S256, without which a login is not safe")]
    NoPkce {
        /// The authorization server.
        issuer: String,
    },
    /// It has to be told about us by hand.
    #[error(
        "{issuer} does not register clients by itself; register onecall there and give its \
         'client_id' under 'oauth' in the server's entry"
    )]
    NoRegistration {
        /// The authorization server.
        issuer: String,
    },
    /// It does not want us.
    #[error(
        "{issuer} did not register onecall: {detail}; register it there yourself and give its \
         'client_id' under 'oauth' in the server's entry"
    )]
    NotRegistered {
        /// The authorization server.
        issuer: String,
        /// What it said.
        detail: String,
    },
    /// The browser could not come back.
    #[error(
        "cannot listen on 127.0.0.1 port {port} for the browser: {source}; see 'redirect_port'"
    )]
    NoListener {
        /// The port; 0 is any.
        port: u16,
        /// What the system said.
        source: std::io::Error,
    },
    /// Nothing unpredictable can be had.
    #[error("cannot read /dev/urandom: {0}")]
    NoRandomness(std::io::Error),
    /// Nobody came.
    #[error("no login within {}s; try again, or give more time with --timeout", limit.as_secs_f64())]
    TimedOut {
        /// How long that was.
        limit: Duration,
    },
    /// The answer does not say who gave it, although every answer should.
    #[error(
        "the answer in the browser does not name {issuer}, which promises to name itself; the answer \
         may be forged"
    )]
    UnnamedIssuer {
        /// The authorization server.
        issuer: String,
    },
    /// The answer is from somebody else.
    #[error("the answer in the browser names {found}, not {issuer}; the answer may be forged")]
    WrongIssuer {
        /// Who was asked.
        issuer: String,
        /// Who answered.
        found: String,
    },
    /// The user, or the authorization server, said no.
    #[error("the login was refused: {detail}")]
    Denied {
        /// What was said.
        detail: String,
    },
    /// There was neither a yes nor a no.
    #[error("the answer in the browser has no code; try again")]
    NoCode,
    /// The code was good for nothing.
    #[error("{issuer} gave no token: {detail}")]
    NoToken {
        /// The authorization server.
        issuer: String,
        /// What it said.
        detail: String,
    },
    /// There is no home to keep tokens in.
    #[error("there is no place to keep the login: set HOME or XDG_STATE_HOME")]
    NoVault,
    /// The place for tokens cannot be used.
    #[error("cannot use '{path}': {detail}", path = path.display())]
    Vault {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
}
