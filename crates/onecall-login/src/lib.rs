//! Logins to remote servers: OAuth 2.1 as the authorization part of the Model Context Protocol
//! describes it. The user logs in once, in a browser ([`PendingLogin`]); from then on every process
//! of the user finds the tokens in the vault and renews them ([`Login`]). No token appears in a
//! message, log or debug text.
//!
//! The transport to a server uses three parts of this crate: [`Login`], which provides the token
//! for a request and replaces one that was rejected, [`Wanted`], which parses a rejection, and the
//! HTTP client in [`http`].

mod address;
mod callback;
mod challenge;
mod discovery;
mod error;
mod flow;
pub mod http;
mod login;
mod logout;
mod mark;
mod registration;
mod scope;
mod secrecy;
mod site;
mod token;
mod vault;
mod web;

pub use challenge::{Challenge, Wanted};
pub use error::{AccessError, LoginError};
pub use flow::{Granted, PendingLogin, Trust};
pub use login::Login;
pub use logout::{LoggedOut, log_out};
pub use mark::LoginMark;
pub use token::Token;
