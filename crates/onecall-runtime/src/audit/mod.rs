//! The audit trail of a process: who called which tool, who decided that, and how it ended. It is read
//! from the log of each run (`run_audit.rs`) and written by a thread of its own (`writer.rs`).
//!
//! What is guaranteed, if the trail is enabled:
//! - The decision about a call is on disk before the call is sent, unless its tool is read-only.
//! - All other rows are written in order, within moments. None is dropped: calls wait while too many
//!   rows are unwritten, and are refused while the trail cannot be written.
//! - A call that was under way when the process was killed has a decision and no end.

mod run_audit;
mod writer;

pub(crate) use run_audit::RunAudit;
pub use writer::{AuditError, AuditSettings, AuditWriter};

/// Bytes of arguments that are kept, if arguments are kept.
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// What the trail keeps of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditDetail {
    /// The digest and the size.
    Digest,
    /// The text, too, without secrets and up to a limit.
    Full,
}
