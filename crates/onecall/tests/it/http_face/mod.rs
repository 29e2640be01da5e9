//! `onecall serve --http`: what clients can do over HTTP, and what a hostile client
//! or network cannot.

mod bounds;
mod clients;
mod crowds;
mod discovery;
mod door;
mod handles;
mod ids;
mod image;
mod leaving;
mod sessions;
mod traces;
mod unread;
