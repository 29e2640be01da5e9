//! Logins to remote servers: OAuth 2.1 as the authorization part of the Model Context Protocol
//! describes it. The user logs in once, in a browser ([`PendingLogin`]); from then on every process
//! of the user finds the tokens in the vault and renews them ([`Login`]). No token appears in a
//! message, log or debug text.
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
mod login_target;
mod login_version;
mod logout;
mod registration;
mod scope;
mod secrecy;
mod token;
mod vault;
mod web;

pub use challenge::{AuthRequirement, Challenge};
pub use error::{AccessError, LoginError};
pub use flow::{IssuerTrust, LoginGrant, PendingLogin};
pub use login::Login;
pub use login_version::LoginVersion;
pub use logout::{LogoutOutcome, log_out};
pub use token::Token;
