//! Logging in to a remote server: OAuth 2.1 as the authorization part of the
//! protocol describes it. A person logs in once, in a browser (`flow`); after that
//! every process of theirs finds the tokens in the vault and keeps them fresh
//! (`login`). No token is in any message, log or debug text.

mod address;
mod callback;
mod challenge;
mod discovery;
mod error;
mod flow;
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

pub(crate) use challenge::Wanted;
pub use error::LoginError;
pub use flow::{Granted, PendingLogin, Trust};
pub(crate) use login::Login;
pub use logout::{LoggedOut, log_out};
pub(crate) use mark::LoginMark;
pub(crate) use token::Token;
