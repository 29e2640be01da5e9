//! The bridge against servers that are small shell scripts: how they start, how
//! they answer, how they end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod calls;
mod fake;
mod start;
mod stop;
