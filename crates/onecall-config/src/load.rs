//! Loads the configuration: finds the file, parses it, and leaves out servers that would start
//! onecall recursively.

use std::path::{Path, PathBuf};

use crate::error::{ConfigError, ConfigErrors};
use crate::expand::Environment;
use crate::format::{ConfigFormat, ParsedConfig};
use crate::locate::{FoundConfigFile, LocatedConfig, ProcessContext, locate};
use crate::model::Config;
use crate::recursion::starts_onecall;
use crate::secrets::Secrets;

/// A configuration and its origin.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: Config,
    /// The file it was read from; `None` if there is no file and all values are defaults.
    pub source: Option<PathBuf>,
    /// The format that the file is written in.
    pub format: ConfigFormat,
    /// The servers that were left out because their entries are invalid, one line each with the
    /// reason.
    pub skipped: Vec<String>,
    /// Warnings for the user, one line each.
    pub warnings: Vec<String>,
}

/// Finds and parses the configuration, and leaves out entries that would start onecall.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub fn load(
    explicit: Option<&Path>,
    context: &ProcessContext<'_>,
) -> Result<LoadedConfig, ConfigError> {
    Ok(locate(explicit, context)?.load(context)?)
}

impl LocatedConfig {
    /// Parses the content that the file had when it was found, and leaves out entries that would
    /// start onecall.
    ///
    /// # Errors
    /// If the content is invalid.
    pub fn load(&self, context: &ProcessContext<'_>) -> Result<LoadedConfig, ConfigErrors> {
        let warnings = self.warnings.clone();
        match &self.found {
            Some(found) => load_found(found, warnings, context),
            None => Ok(LoadedConfig { warnings, ..LoadedConfig::default() }),
        }
    }
}

fn load_found(
    found: &FoundConfigFile,
    mut warnings: Vec<String>,
    context: &ProcessContext<'_>,
) -> Result<LoadedConfig, ConfigErrors> {
    let (secrets, unusable) = match context.secrets() {
        Ok(secrets) => (secrets, None),
        Err(error) => (Secrets::default(), Some(error.to_string())),
    };
    let environment = Environment::new(context.environment).with_secrets(&secrets);
    let ParsedConfig { mut config, format, warnings: more, skipped } = found
        .parse(&environment)
        .map_err(|errors| unusable.iter().cloned().fold(errors, ConfigErrors::with_advice))?;
    config.secrets = secrets.values().cloned().collect();
    warnings.extend(unusable);
    warnings.extend(more);
    let path = found.path.clone();
    config.servers.retain(|server| {
        let is_onecall = starts_onecall(&server.transport, context);
        if is_onecall {
            warnings.push(format!(
                "server '{}' in '{}' is skipped: it would start onecall inside onecall",
                server.name,
                path.display()
            ));
        }
        !is_onecall
    });
    if config.proxy.dynamic_servers && config.proxy.allowed_hosts.is_empty() {
        warnings.push(format!(
            "'{}' lets plans bring servers along, but 'allowed_hosts' in proxy lists no place where \
             these may be; a server on this machine is listed as 'localhost:8080'",
            path.display()
        ));
    }
    Ok(LoadedConfig { config, source: Some(path), format, skipped, warnings })
}
