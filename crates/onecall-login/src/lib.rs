//! Logins to remote servers: OAuth 2.1 as the authorization part of the Model Context Protocol
//! describes it. A person logs in once, in a browser ([`PendingLogin`]); from then on every process
//! of theirs finds the tokens in the vault and keeps them fresh ([`Login`]). No token is in any
//! message, log or debug text.
//!
//! The transport that talks to a server uses three things of this crate: [`Login`], which gives the
//! token for a request and replaces one that was refused, [`Wanted`], which reads what a refusal
//! asks for, and the HTTP client in [`http`].

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
