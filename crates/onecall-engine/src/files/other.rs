//! Stands in for the files of the sandbox on systems that have none: there, no worker ever asks for
//! a file, and nothing is opened for one that does.

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

/// A folder in memory that one program has for itself: never made.
#[derive(Debug)]
pub(crate) struct Folder;

impl Folder {
    /// Lets go of the descriptor.
    pub(crate) fn scratch(descriptor: OwnedFd) -> Self {
        drop(descriptor);
        Self
    }
}
