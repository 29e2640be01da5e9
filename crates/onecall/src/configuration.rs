//! The configuration of a command: located, read and parsed when it is first needed, and only once.

use std::sync::OnceLock;

use onecall_config::{ConfigErrors, LoadedConfig, LocatedConfig, ProcessContext, locate};

use crate::cli::Global;
use crate::reload::WatchedFiles;

/// The parts of the configuration that have been read so far.
#[derive(Debug, Default)]
pub(crate) struct LazyConfiguration {
    found: OnceLock<LocatedFile>,
    loaded: OnceLock<Result<LoadedConfig, ConfigErrors>>,
}

/// The file to use, or why there is none.
#[derive(Debug)]
struct LocatedFile {
    /// Every file on which the choice depends, with its state before it was read.
    watched: WatchedFiles,
    located: anyhow::Result<LocatedConfig>,
}

impl Global {
    /// The configuration file to use, with the content that was read.
    pub(crate) fn located(&self) -> anyhow::Result<&LocatedConfig> {
        self.found().located.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The parsed configuration.
    pub(crate) fn loaded(&self) -> anyhow::Result<&LoadedConfig> {
        let located = self.located()?;
        let load = || located.load(&ProcessContext::current());
        let loaded = self.configuration.loaded.get_or_init(load);
        loaded.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The files on which the configuration depends, with their state before it was read. Comparing
    /// them with their state later misses no change.
    pub(crate) fn watched_files(&self) -> WatchedFiles {
        self.found().watched.clone()
    }

    fn found(&self) -> &LocatedFile {
        self.configuration.found.get_or_init(|| {
            let explicit = self.config.as_deref();
            let context = ProcessContext::current();
            let watched = WatchedFiles::of_configuration(explicit, &context);
            let located = locate(explicit, &context).map_err(anyhow::Error::from);
            LocatedFile { watched, located }
        })
    }
}
