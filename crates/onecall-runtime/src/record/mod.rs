//! What is remembered of each run, and what it was worth.
//!
//! While a program runs, its [`CallLog`](crate::call_log::CallLog) keeps a few bytes of each call. Everything else (hashes, redaction, counting tokens) happens on the thread of
//! the [`Recorder`] once the answer has gone out, and that thread hands the record to the
//! one that writes.

mod facts;
mod recorder;
mod recording;
mod redactor;
mod savings;
mod tokenizer;

pub(crate) use recorder::Origin;
pub use recorder::Recorder;
pub(crate) use recording::{Counting, Recording};
pub use redactor::Redactor;
pub use tokenizer::Tokenizer;
