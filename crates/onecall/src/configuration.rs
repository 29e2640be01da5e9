//! The configuration of a command: located, read and parsed when it is first needed, and only once.

use std::sync::OnceLock;

use onecall_config::{ConfigErrors, Loaded, Located, Surroundings, locate};

use crate::cli::Global;
use crate::reload::WatchedFiles;

/// The parts of the configuration that have been read so far.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    found: OnceLock<FoundFile>,
    loaded: OnceLock<Result<Loaded, ConfigErrors>>,
}

/// The file to use, or why there is none.
#[derive(Debug)]
struct FoundFile {
    /// Every file on which the choice depends, with its state before it was read.
    watched: WatchedFiles,
    located: anyhow::Result<Located>,
}

impl Global {
    /// The configuration file to use, with the content that was read.
    pub(crate) fn located(&self) -> anyhow::Result<&Located> {
        self.found().located.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The parsed configuration.
    pub(crate) fn loaded(&self) -> anyhow::Result<&Loaded> {
        let located = self.located()?;
        let load = || located.load(&Surroundings::of_process());
        let loaded = self.configuration.loaded.get_or_init(load);
        loaded.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The files on which the configuration depends, with their state before it was read. Comparing
    /// them with their state later misses no change.
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
