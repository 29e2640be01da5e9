//! `onecall serve --http`: what clients can do over HTTP, and what a hostile client
//! or network cannot.

mod access;
mod bounds;
mod clients;
mod discovery;
mod draining;
mod handles;
mod ids;
mod image;
mod leaving;
mod login_pages;
mod many_connections;
mod sessions;
mod traces;
mod unread;
