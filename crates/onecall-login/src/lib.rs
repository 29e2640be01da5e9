//! Logins to remote servers: OAuth 2.1 as the authorization part of the Model Context Protocol
//! describes it. The user logs in once, in a browser ([`PendingLogin`]); from then on every process
//! of the user finds the tokens in the vault and renews them ([`Login`]). No token appears in a
//! message, log or debug text. Secrets and logins of users of a gateway are encrypted in its store
//! ([`UserVault`]), and [`UserCredentials`] hands them to servers.
//!
//! The transport to a server uses three parts of this crate: [`Login`], which provides the token
//! for a request and replaces one that was rejected, [`AuthRequirement`], which parses a rejection, and the
//! HTTP client in [`http`].

mod address;
mod callback;
mod challenge;
mod discovery;
mod error;
mod flow;
pub mod http;
mod login;
mod login_links;
mod login_place;
mod login_status;
mod login_target;
mod login_version;
mod logout;
mod registration;
mod scope;
mod sealed_login;
mod secrecy;
mod token;
mod user_credentials;
mod user_vault;
mod vault;
mod web;

pub use callback::AuthorizationResponse;
pub use challenge::{AuthRequirement, Challenge};
pub use error::{AccessError, LoginError};
pub use flow::{IssuerTrust, LoginGrant, PendingLogin, StartedLogin};
pub use login::Login;
pub use login_links::{LinkError, LoginLinkIssuer, LoginLinks, OpenLink};
pub use login_status::{is_logged_in, is_user_logged_in};
pub use login_target::login_name;
pub use login_version::LoginVersion;
pub use logout::{LogoutOutcome, log_out, log_out_user};
pub use secrecy::{challenge_for, random_text};
pub use token::Token;
pub use user_credentials::{CredentialsError, UserCredentials};
pub use user_vault::{
    HandedOut, KEY_VARIABLE, Rotation, SecretEntry, SecretObserver, UnreadableSecrets, UserVault,
    VaultError, key_file_path,
};
