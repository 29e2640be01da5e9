//! Answers the file requests of workers.
//!
//! A worker runs untrusted code, so a request may contain anything. Each request is answered before
//! the next one is read and waits only for its turn and the disk; one that violates the protocol
//! ends the worker.

mod folder;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, Dir, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use tokio::sync::Semaphore;

use folder::Refusal;

use super::SCRATCH;
use super::channel::Channel;
use super::frames::{Answer, MAX_ANSWER, Malformed, Name, Numbers, Place, Request};
use crate::scratch::{Scratch, Slot};

pub(crate) use folder::Folder;

/// How many requests of all programs may wait for the disk at the same time.
const AT_ONCE: usize = 16;

/// The folders that programs may use.
#[derive(Debug)]
pub(crate) struct Files {
    /// The folders, by the number that workers use for them.
    folders: [Option<Folder>; 2],
    /// The path of the workspace, if there is one.
    workspace: Option<PathBuf>,
    turns: Arc<Semaphore>,
}

/// An answer, with the file that is attached to it.
struct Reply {
    packet: Vec<u8>,
    opened: Option<OwnedFd>,
    /// A directory with entries that have not been sent yet.
    listing: Option<Dir>,
}

impl Files {
    /// Opens the workspace, if there is one, and the folder of tools. A folder that cannot be
    /// opened is treated as if it did not exist.
    pub(crate) fn new(workspace: Option<(&Path, bool)>, tools: Option<&Path>) -> Self {
        let opened = |path: &Path, writable| {
            let open = Folder::open(path, writable);
            open.inspect_err(|error| {
                tracing::warn!("programs cannot use '{}': {error}", path.display());
            })
            .ok()
        };
        let place = workspace.map(|(path, _)| path.to_owned());
        let workspace = workspace.and_then(|(path, writable)| opened(path, writable));
        let tools = tools.and_then(|path| opened(path, false));
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self { folders: [workspace, tools], workspace: place, turns }
    }

    /// Answers the requests of a worker until it closes its socket or violates the protocol. `slot`
    /// is the worker's scratch folder.
    pub(crate) async fn serve(
        self: Arc<Self>,
        channel: Channel,
        slot: Arc<Slot>,
    ) -> Result<(), Malformed> {
        let mut listing = None;
        while let Some(packet) = channel.receive().await? {
            // The semaphore is never closed.
            let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else { return Ok(()) };
            let (files, slot) = (Arc::clone(&self), Arc::clone(&slot));
            let answered = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                files.answer(&packet, listing, &slot)
            });
            let Ok(reply) = answered.await else { return Ok(()) };
            let Reply { packet, opened, listing: unfinished } = reply?;
            listing = unfinished;
            if channel.send(&packet, opened.as_ref()).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&self, packet: &[u8], listing: Option<Dir>, slot: &Slot) -> Result<Reply, Malformed> {
        let request = Request::decode(packet)?;
        let told = |answer: Answer<'_>| Reply::from(answer.encode());
        let scratch = match request.concerns(SCRATCH) {
            true => match slot.folder(|folder| self.arrange(folder)).ok_or(Malformed)? {
                Ok(folder) => Some(folder),
                // If the program fails because of this, its outcome contains the reason.
                Err(_) => {
                    let errno = Errno::ACCESS.raw_os_error();
                    return Ok(told(Answer::Failed { errno, reason: "" }));
                }
            },
            false => None,
        };
        let of = |place| self.of(place, scratch);
        let replied = match request {
            Request::Open { place, flags, mode } => {
                let flags = OFlags::from_bits_retain(flags);
                let opened = of(place)?.open_file(place.path, flags, permissions(mode));
                opened.map(|file| Reply { opened: Some(file), ..told(Answer::Done) })
            }
            Request::Status { place, follow } => {
                let status = of(place)?.status(place.path, follow);
                status.map(|status| told(Answer::Status(numbers(&status)))).map_err(Refusal::from)
            }
            Request::Access { place, mode } => {
                let mode = Access::from_bits_truncate(mode);
                of(place)?.access(place.path, mode).map(|()| told(Answer::Done))
            }
            Request::ReadLink { place } => {
                let target = of(place)?.read_link(place.path);
                target.map(|target| told(Answer::Path(&target))).map_err(Refusal::from)
            }
            Request::Enter { place } => {
                let entered = of(place)?.enter(place.path).map_err(Refusal::from);
                entered.map(|path| told(Answer::Path(path.as_os_str().as_encoded_bytes())))
            }
            Request::List { place } => {
                of(place)?.list(place.path).map_err(Refusal::from).and_then(some_names)
            }
            Request::ListMore => some_names(listing.ok_or(Malformed)?),
            Request::MakeDirectory { place, mode } => {
                let made = of(place)?.make_directory(place.path, permissions(mode));
                made.map(|()| told(Answer::Done))
            }
            Request::RemoveFile { place } => {
                let removed = of(place)?.remove(place.path, AtFlags::empty());
                removed.map(|()| told(Answer::Done))
            }
            Request::RemoveDirectory { place } => {
                let removed = of(place)?.remove(place.path, AtFlags::REMOVEDIR);
                removed.map(|()| told(Answer::Done))
            }
            Request::Rename { from, to } => {
                let renamed = of(from)?.rename(from.path, of(to)?, to.path);
                renamed.map(|()| told(Answer::Done))
            }
            Request::SetMode { place, mode } => {
                of(place)?.set_mode(place.path, permissions(mode)).map(|()| told(Answer::Done))
            }
            Request::SetTimes { place, times } => {
                of(place)?.set_times(place.path, times).map(|()| told(Answer::Done))
            }
        };
        Ok(replied.unwrap_or_else(|Refusal { errno, reason }| {
            told(Answer::Failed { errno: errno.raw_os_error(), reason })
        }))
    }

    /// Creates the directories that lead to a workspace which is inside the scratch folder.
    fn arrange(&self, scratch: &Folder) {
        let inside =
            self.workspace.as_ref().and_then(|path| path.strip_prefix(Scratch::PLACE).ok());
        let ancestors = inside.into_iter().flat_map(Path::ancestors);
        let mut ancestors: Vec<_> = ancestors.map(|it| it.as_os_str().as_encoded_bytes()).collect();
        ancestors.retain(|path| !path.is_empty());
        for path in ancestors.into_iter().rev() {
            // They only appear in listings of the scratch folder; paths lead to the workspace
            // itself.
            _ = scratch.make_directory(path, permissions(0o755));
        }
    }

    fn of<'f>(
        &'f self,
        place: Place<'_>,
        scratch: Option<&'f Folder>,
    ) -> Result<&'f Folder, Malformed> {
        if place.folder == SCRATCH {
            return scratch.ok_or(Malformed);
        }
        let folder = self.folders.get(usize::from(place.folder)).ok_or(Malformed)?;
        folder.as_ref().ok_or(Malformed)
    }
}

impl From<Vec<u8>> for Reply {
    fn from(packet: Vec<u8>) -> Self {
        Self { packet, opened: None, listing: None }
    }
}

/// An answer with as many entries as fit; the rest stays for the next one.
fn some_names(mut directory: Dir) -> Result<Reply, Refusal> {
    let mut names = Vec::new();
    while names.len() + Name::LONGEST + HEADER <= MAX_ANSWER {
        let Some(entry) = directory.read() else {
            return Ok(Answer::Names { last: true, names: &names }.encode().into());
        };
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            let kind = entry.file_type().as_raw_mode();
            Name { name, kind, inode: entry.ino() }.encode(&mut names);
        }
    }
    let packet = Answer::Names { last: false, names: &names }.encode();
    Ok(Reply { packet, opened: None, listing: Some(directory) })
}

/// The bytes before the entries of an answer.
const HEADER: usize = 5;

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(RawMode::from(mode))
}

#[allow(clippy::useless_conversion, reason = "the types differ between processors")]
fn numbers(status: &Stat) -> Numbers {
    let small = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let time = |seconds: i64, nanoseconds: u64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(small(nanoseconds))
    };
    [
        i64::from(status.st_mode),
        status.st_ino.cast_signed(),
        status.st_dev.cast_signed(),
        small(status.st_nlink.into()),
        status.st_size,
        time(status.st_atime, status.st_atime_nsec),
        time(status.st_mtime, status.st_mtime_nsec),
        time(status.st_ctime, status.st_ctime_nsec),
        status.st_blocks,
        status.st_blksize.into(),
    ]
}
