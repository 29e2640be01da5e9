//! The whole way from the surroundings to a configuration.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::locate::{Found, Located, Surroundings, locate};
use crate::model::Config;
use crate::recursion::starts_onecall;

/// A configuration and where it came from.
#[derive(Debug)]
pub struct Loaded {
    /// What to run with.
    pub config: Config,
    /// The file it was read from; none means that there is no file and all is default.
    pub source: Option<PathBuf>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
}

/// Finds the configuration, reads it and leaves out entries that would start onecall.
///
/// # Errors
/// If the file cannot be had or is not valid.
pub fn load(
    explicit: Option<&Path>,
    surroundings: &Surroundings<'_>,
) -> Result<Loaded, ConfigError> {
    let Located { found, mut warnings } = locate(explicit, surroundings)?;
    let Some(Found { path, bytes, .. }) = found else {
        return Ok(Loaded { config: Config::default(), source: None, warnings });
    };
    let mut config = Config::parse_bytes(&bytes, &path, surroundings.environment)?;
    config.servers.retain(|server| {
        let is_onecall = starts_onecall(&server.transport, surroundings);
        if is_onecall {
            warnings.push(format!(
                "server '{}' in '{}' is skipped: it would start onecall inside onecall",
                server.name,
                path.display()
            ));
        }
        !is_onecall
    });
    Ok(Loaded { config, source: Some(path), warnings })
}
