//! Replaces the file access of the sandbox on systems without a sandbox. There, no worker asks for
//! a file, and none is opened.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::channel::FileChannel;
use super::packets::MalformedPacket;
use crate::scratch::ScratchSlot;

/// The folders that programs may use: none.
#[derive(Debug)]
pub(crate) struct FileServer;

impl FileServer {
    /// Opens nothing.
    pub(crate) fn new(_workspace: Option<(&Path, bool)>, _tools: Option<&Path>) -> Self {
        Self
    }

    /// Ends a worker that asks for a file.
    pub(crate) async fn serve(
        self: Arc<Self>,
        channel: FileChannel,
        _slot: Arc<ScratchSlot>,
    ) -> Result<(), MalformedPacket> {
        match channel.receive().await? {
            Some(_) => Err(MalformedPacket),
            None => Ok(()),
        }
    }
}

/// A scratch folder, which is never created here.
#[derive(Debug)]
pub(crate) struct Folder;

impl Folder {
    /// Drops the descriptor.
    pub(crate) fn scratch(descriptor: OwnedFd) -> Self {
        drop(descriptor);
        Self
    }
}
