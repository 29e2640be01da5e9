//! Replaces the file access of the sandbox on systems without a sandbox. There, no worker asks for
//! a file, and none is opened.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::channel::Channel;
use super::frames::Malformed;
use crate::scratch::Slot;

/// The folders that programs may use: none.
#[derive(Debug)]
pub(crate) struct Files;

impl Files {
    /// Opens nothing.
    pub(crate) fn new(_workspace: Option<(&Path, bool)>, _tools: Option<&Path>) -> Self {
        Self
    }

    /// Ends a worker that asks for a file.
    pub(crate) async fn serve(
        self: Arc<Self>,
        channel: Channel,
        _slot: Arc<Slot>,
    ) -> Result<(), Malformed> {
        match channel.receive().await? {
            Some(_) => Err(Malformed),
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
