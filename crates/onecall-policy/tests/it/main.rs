//! Policies as the gateway uses them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod deciding;
mod indexed;
mod loading;
mod support;
