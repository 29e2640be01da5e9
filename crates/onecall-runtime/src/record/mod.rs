//! Records runs, and measures the text sizes that their token savings are estimated from.
//!
//! While a program runs, its [`CallLog`](crate::call_log::CallLog) keeps a few bytes of each call.
//! The rest (hashing, redaction, sizes) is done on the thread of the [`Recorder`] after the answer
//! has been sent; that thread passes the record on to the one that writes to the store.

mod recorder;
mod recording;
mod redacted_journal;
mod redactor;
mod run_record;
mod savings;
mod token_counts;

pub(crate) use recorder::ToolSource;
pub use recorder::{RecordSettings, Recorder};
pub(crate) use recording::Recording;
pub use recording::RunningRun;
pub use redactor::Redactor;
pub use token_counts::TokenCounter;
