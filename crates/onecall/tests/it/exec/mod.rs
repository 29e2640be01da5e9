//! `onecall exec`: programs for a host that executes their tools itself.

mod host;
mod input;
mod lifecycle;
mod programs;
mod schema;
mod values;
