//! What is remembered of each run, and the sizes that its savings are estimated from.
//!
//! While a program runs, its [`CallLog`](crate::call_log::CallLog) keeps a few bytes of each call.
//! Everything else (hashes, redaction, sizes) happens on the thread of the [`Recorder`] once the answer
//! has gone out, and that thread hands the record to the one that writes.

mod facts;
mod recorder;
mod recording;
mod redactor;
mod savings;

pub(crate) use recorder::Origin;
pub use recorder::{RecordSettings, Recorder};
pub(crate) use recording::Recording;
pub use redactor::Redactor;
