//! `onecall serve --http`: what clients can do over HTTP, and what a hostile client
//! or network cannot.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod bounds;
mod clients;
mod crowds;
mod discovery;
mod door;
mod exchange;
mod face;
mod handles;
mod ids;
mod image;
mod leaving;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod traces;
mod unread;
