//! The scratch folder: a folder in memory at `/tmp`, for Python programs whose source mentions it.
//! Other programs have none.
//!
//! For the embedded Python, the gateway holds the folder and opens files in it, as in a workspace;
//! the zygote creates it when the program first uses it. The system's Python opens files itself, so
//! such a program gets a zygote of its own, with the folder in its root.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use onecall_core::{DeniedResource, Failure};
pub(crate) use onecall_jail::ScratchFolder;
use thiserror::Error;

use crate::files::Folder;
use crate::pool::WorkerPool;
use crate::worker::{ProgramRun, Worker};
use crate::zygote::Zygote;

/// The sandbox wall that a scratch folder requires: the folder is mounted in that root.
pub(crate) const REQUIRED_WALL: &str = "empty root";

/// Exceptions of programs that could not use the folder.
const RELATED_EXCEPTIONS: [&str; 4] =
    ["FileNotFoundError", "PermissionError", "OSError", "OperationalError"];

/// Whether the source of a program mentions the folder, or the module that uses it.
pub(crate) fn is_mentioned(code: &str) -> bool {
    code.contains("tempfile") || code.contains(ScratchFolder::PATH)
}

/// How the programs of an engine get a scratch folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScratchProvision {
    /// Programs get none.
    Never,
    /// The gateway opens files in it for the programs.
    ByGateway,
    /// The folder is in the root of the programs' zygote, which serves only one program or session.
    Mounted(ScratchFolder),
    /// Programs need a separate zygote that has one; this zygote has none.
    SeparateZygote,
}

/// Why a program that mentions the folder has none.
#[derive(Debug, Error)]
pub(crate) enum ScratchError {
    /// The session's worker was forked without the folder.
    #[error(
        "the session began with a program whose text names neither `tempfile` nor `/tmp`; reset it \
         and begin with one that does"
    )]
    SessionBeganWithout,
    /// The sandbox wall that it requires is missing.
    #[error("{reason}")]
    MissingWall {
        /// Why the wall is missing.
        reason: String,
    },
    /// The zygote could not be asked for the folder.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The zygote could not create the folder.
    #[error("the system does not let onecall make it: {reason}")]
    NotCreated {
        /// The error of the system.
        reason: String,
    },
}

impl WorkerPool {
    /// Decides what a program that runs in `worker` has at `/tmp`. A session keeps its folder.
    pub(crate) fn grant_scratch(&self, worker: &Worker, run: ProgramRun<'_>) -> ScratchGrant {
        let slot = worker.slot();
        if let Some(scratch) = slot.granted() {
            return ScratchGrant::Folder(scratch);
        }
        let scratch = match self.provision {
            ScratchProvision::Never => return ScratchGrant::Nothing,
            _ if !is_mentioned(&run.program.code) => return ScratchGrant::Nothing,
            ScratchProvision::SeparateZygote => {
                return ScratchGrant::Refused(ScratchError::SessionBeganWithout);
            }
            ScratchProvision::ByGateway => ScratchFolder::of(run.limits.memory_bytes),
            ScratchProvision::Mounted(scratch) => scratch,
        };
        match worker.missing_wall(REQUIRED_WALL) {
            Some(reason) => ScratchGrant::Refused(ScratchError::MissingWall { reason }),
            None => {
                slot.grant(scratch);
                ScratchGrant::Folder(scratch)
            }
        }
    }
}

/// What a program has at `/tmp`.
#[derive(Debug)]
pub(crate) enum ScratchGrant {
    /// A scratch folder.
    Folder(ScratchFolder),
    /// Nothing, because its source does not mention the folder, or its engine provides none.
    Nothing,
    /// Nothing, although its source mentions the folder, for this reason.
    Refused(ScratchError),
}

impl ScratchGrant {
    /// The memory that the folder takes, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Folder(scratch) => scratch.bytes,
            Self::Nothing | Self::Refused(_) => 0,
        }
    }

    /// Why a program that mentions the folder has none.
    pub(crate) fn refused(&self) -> Option<&ScratchError> {
        match self {
            Self::Refused(reason) => Some(reason),
            Self::Folder(_) | Self::Nothing => None,
        }
    }
}

/// A hint for the author of a program that failed because it has no scratch folder. It takes the
/// place of the hint about files in general.
pub(crate) fn explain(failure: &mut Failure, reason: &ScratchError) -> Option<String> {
    let Failure::Raised { error, .. } = failure else { return None };
    let path = ScratchFolder::PATH;
    RELATED_EXCEPTIONS.contains(&error.kind.as_str()).then(|| {
        error.denied = error.denied.filter(|denied| *denied != DeniedResource::Files);
        format!("this program has no scratch folder at {path}: {reason}")
    })
}

/// The scratch folder of one worker of the embedded Python. A worker is forked before its program
/// is known, so the folder is granted later.
#[derive(Debug)]
pub(crate) struct ScratchSlot {
    zygote: Arc<Zygote>,
    /// The size of the folder in bytes; zero if it has not been granted.
    granted: AtomicU64,
    folder: OnceLock<Result<Folder, ScratchError>>,
}

impl ScratchSlot {
    /// The slot of a worker that this zygote forks.
    pub(crate) fn new(zygote: &Arc<Zygote>) -> Arc<Self> {
        let (zygote, granted) = (Arc::clone(zygote), AtomicU64::new(0));
        Arc::new(Self { zygote, granted, folder: OnceLock::new() })
    }

    /// Grants the folder to the worker's programs from now on.
    pub(crate) fn grant(&self, scratch: ScratchFolder) {
        self.granted.store(scratch.bytes, Ordering::Release);
    }

    /// The folder that was granted, if any.
    pub(crate) fn granted(&self) -> Option<ScratchFolder> {
        let bytes = self.granted.load(Ordering::Acquire);
        (bytes > 0).then_some(ScratchFolder { bytes })
    }

    /// The folder, or why it could not be created; `None` if it has not been granted. It is created
    /// and prepared by `prepare` when it is first used. Blocks.
    pub(crate) fn folder(
        &self,
        prepare: impl FnOnce(&Folder),
    ) -> Option<Result<&Folder, &ScratchError>> {
        let scratch = self.granted()?;
        let made = self.folder.get_or_init(|| {
            let descriptor = self.zygote.make_scratch(scratch)?;
            let folder = Folder::scratch(descriptor);
            prepare(&folder);
            Ok(folder)
        });
        Some(made.as_ref())
    }

    /// Why the folder could not be created, if that was tried.
    pub(crate) fn failure(&self) -> Option<&ScratchError> {
        self.folder.get()?.as_ref().err()
    }
}

#[cfg(test)]
mod tests {
    use super::is_mentioned;

    #[test]
    fn a_text_names_it_in_plain_words_only() {
        for code in [
            "import tempfile",
            "from tempfile import mkdtemp",
            "open('/tmp/x', 'w')",
            "Path(\"/tmp\") / 'x'",
            "# /tmp",
        ] {
            assert!(is_mentioned(code), "{code}");
        }
        for code in ["", "import temp", "open('tmp/x')", "'/t' + 'mp'", "open('/TMP/x')"] {
            assert!(!is_mentioned(code), "{code}");
        }
    }
}
