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
use super::channel::FileChannel;
use super::packets::{
    DirectoryEntry, FileAnswer, FileRequest, FileStatus, FolderPath, MAX_ANSWER, MalformedPacket,
};
use crate::scratch::{ScratchFolder, ScratchSlot};

pub(crate) use folder::Folder;

/// How many requests of all programs may wait for the disk at the same time.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// The folders that programs may use.
#[derive(Debug)]
pub(crate) struct FileServer {
    /// The folders, by the number that workers use for them.
    folders: [Option<Folder>; 2],
    /// The path of the workspace, if there is one.
    workspace: Option<PathBuf>,
    permits: Arc<Semaphore>,
}

/// An answer, with the file that is attached to it.
struct Reply {
    packet: Vec<u8>,
    opened: Option<OwnedFd>,
    /// A directory with entries that have not been sent yet.
    listing: Option<Dir>,
}

impl FileServer {
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
        let workspace_path = workspace.map(|(path, _)| path.to_owned());
        let workspace = workspace.and_then(|(path, writable)| opened(path, writable));
        let tools = tools.and_then(|path| opened(path, false));
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        Self { folders: [workspace, tools], workspace: workspace_path, permits }
    }

    /// Answers the requests of a worker until it closes its socket or violates the protocol. `slot`
    /// is the worker's scratch folder.
    pub(crate) async fn serve(
        self: Arc<Self>,
        channel: FileChannel,
        slot: Arc<ScratchSlot>,
    ) -> Result<(), MalformedPacket> {
        let mut listing = None;
        while let Some(packet) = channel.receive().await? {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return Ok(()) };
            let (files, slot) = (Arc::clone(&self), Arc::clone(&slot));
            let answered = tokio::task::spawn_blocking(move || {
                let _permit = permit;
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

    fn answer(
        &self,
        packet: &[u8],
        listing: Option<Dir>,
        slot: &ScratchSlot,
    ) -> Result<Reply, MalformedPacket> {
        let request = FileRequest::decode(packet)?;
        let reply_with = |answer: FileAnswer<'_>| Reply::from(answer.encode());
        let scratch = match request.concerns(SCRATCH) {
            true => match slot
                .folder(|folder| self.create_workspace_ancestors(folder))
                .ok_or(MalformedPacket)?
            {
                Ok(folder) => Some(folder),
                // If the program fails because of this, its outcome contains the reason.
                Err(_) => {
                    let errno = Errno::ACCESS.raw_os_error();
                    return Ok(reply_with(FileAnswer::Failed { errno, reason: "" }));
                }
            },
            false => None,
        };
        let folder_of = |target| self.folder_of(target, scratch);
        let replied = match request {
            FileRequest::Open { target, flags, mode } => {
                let flags = OFlags::from_bits_retain(flags);
                let opened = folder_of(target)?.open_file(target.path, flags, permissions(mode));
                opened.map(|file| Reply { opened: Some(file), ..reply_with(FileAnswer::Done) })
            }
            FileRequest::Status { target, follow } => {
                let status = folder_of(target)?.status(target.path, follow);
                status
                    .map(|status| reply_with(FileAnswer::Status(encode_status(&status))))
                    .map_err(Refusal::from)
            }
            FileRequest::Access { target, mode } => {
                let mode = Access::from_bits_truncate(mode);
                folder_of(target)?.access(target.path, mode).map(|()| reply_with(FileAnswer::Done))
            }
            FileRequest::ReadLink { target } => {
                let linked = folder_of(target)?.read_link(target.path);
                linked.map(|linked| reply_with(FileAnswer::Path(&linked))).map_err(Refusal::from)
            }
            FileRequest::Enter { target } => {
                let entered = folder_of(target)?.enter(target.path).map_err(Refusal::from);
                entered
                    .map(|path| reply_with(FileAnswer::Path(path.as_os_str().as_encoded_bytes())))
            }
            FileRequest::List { target } => {
                folder_of(target)?.list(target.path).map_err(Refusal::from).and_then(next_entries)
            }
            FileRequest::ListMore => next_entries(listing.ok_or(MalformedPacket)?),
            FileRequest::MakeDirectory { target, mode } => {
                let made = folder_of(target)?.make_directory(target.path, permissions(mode));
                made.map(|()| reply_with(FileAnswer::Done))
            }
            FileRequest::RemoveFile { target } => {
                let removed = folder_of(target)?.remove(target.path, AtFlags::empty());
                removed.map(|()| reply_with(FileAnswer::Done))
            }
            FileRequest::RemoveDirectory { target } => {
                let removed = folder_of(target)?.remove(target.path, AtFlags::REMOVEDIR);
                removed.map(|()| reply_with(FileAnswer::Done))
            }
            FileRequest::Rename { from, to } => {
                let renamed = folder_of(from)?.rename(from.path, folder_of(to)?, to.path);
                renamed.map(|()| reply_with(FileAnswer::Done))
            }
            FileRequest::SetMode { target, mode } => folder_of(target)?
                .set_mode(target.path, permissions(mode))
                .map(|()| reply_with(FileAnswer::Done)),
            FileRequest::SetTimes { target, times } => folder_of(target)?
                .set_times(target.path, times)
                .map(|()| reply_with(FileAnswer::Done)),
        };
        Ok(replied.unwrap_or_else(|Refusal { errno, reason }| {
            reply_with(FileAnswer::Failed { errno: errno.raw_os_error(), reason })
        }))
    }

    /// Creates the directories that lead to a workspace which is inside the scratch folder.
    fn create_workspace_ancestors(&self, scratch: &Folder) {
        let inside =
            self.workspace.as_ref().and_then(|path| path.strip_prefix(ScratchFolder::PATH).ok());
        let ancestors = inside.into_iter().flat_map(Path::ancestors);
        let mut ancestors: Vec<_> = ancestors.map(|it| it.as_os_str().as_encoded_bytes()).collect();
        ancestors.retain(|path| !path.is_empty());
        for path in ancestors.into_iter().rev() {
            // They only appear in listings of the scratch folder; paths lead to the workspace
            // itself.
            _ = scratch.make_directory(path, permissions(0o755));
        }
    }

    fn folder_of<'f>(
        &'f self,
        target: FolderPath<'_>,
        scratch: Option<&'f Folder>,
    ) -> Result<&'f Folder, MalformedPacket> {
        if target.folder == SCRATCH {
            return scratch.ok_or(MalformedPacket);
        }
        let folder = self.folders.get(usize::from(target.folder)).ok_or(MalformedPacket)?;
        folder.as_ref().ok_or(MalformedPacket)
    }
}

impl From<Vec<u8>> for Reply {
    fn from(packet: Vec<u8>) -> Self {
        Self { packet, opened: None, listing: None }
    }
}

/// An answer with as many entries as fit; the rest stays for the next one.
fn next_entries(mut directory: Dir) -> Result<Reply, Refusal> {
    let mut names = Vec::new();
    while names.len() + DirectoryEntry::LONGEST + ENTRIES_HEADER_SIZE <= MAX_ANSWER {
        let Some(entry) = directory.read() else {
            return Ok(FileAnswer::Entries { last: true, names: &names }.encode().into());
        };
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            let kind = entry.file_type().as_raw_mode();
            DirectoryEntry { name, kind, inode: entry.ino() }.encode(&mut names);
        }
    }
    let packet = FileAnswer::Entries { last: false, names: &names }.encode();
    Ok(Reply { packet, opened: None, listing: Some(directory) })
}

/// The bytes before the entries of an answer.
const ENTRIES_HEADER_SIZE: usize = 5;

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(RawMode::from(mode))
}

#[allow(clippy::useless_conversion, reason = "the types differ between processors")]
fn encode_status(status: &Stat) -> FileStatus {
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
