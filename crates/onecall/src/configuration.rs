//! The configuration that a command runs with: found, read and parsed when the first part of the
//! command needs it, and never again.

use std::sync::OnceLock;

use onecall_config::{ConfigErrors, Loaded, Located, Surroundings, locate};

use crate::cli::Global;
use crate::reload::WatchedFiles;

/// What was read of the configuration so far.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    found: OnceLock<FoundFile>,
    loaded: OnceLock<Result<Loaded, ConfigErrors>>,
}

/// The file to use, or why there is none.
#[derive(Debug)]
struct FoundFile {
    /// Every file that the choice depends on, as it was before.
    watched: WatchedFiles,
    located: anyhow::Result<Located>,
}

impl Global {
    /// The configuration file to use, with what it held when it was read.
    pub(crate) fn located(&self) -> anyhow::Result<&Located> {
        self.found().located.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The configuration.
    pub(crate) fn loaded(&self) -> anyhow::Result<&Loaded> {
        let located = self.located()?;
        let load = || located.load(&Surroundings::of_process());
        let loaded = self.configuration.loaded.get_or_init(load);
        loaded.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The files that the configuration depends on, as they were before it was read: whoever
    /// compares them with what they are later misses no change.
    pub(crate) fn watched_files(&self) -> WatchedFiles {
        self.found().watched.clone()
    }

    fn found(&self) -> &FoundFile {
        self.configuration.found.get_or_init(|| {
            let explicit = self.config.as_deref();
            let surroundings = Surroundings::of_process();
            let watched = WatchedFiles::of_configuration(explicit, &surroundings);
            let located = locate(explicit, &surroundings).map_err(anyhow::Error::from);
            FoundFile { watched, located }
        })
    }
}
