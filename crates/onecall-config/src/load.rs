//! The whole way from the surroundings to a configuration.

use std::path::{Path, PathBuf};

use crate::error::{ConfigError, ConfigErrors};
use crate::expand::Environment;
use crate::format::{Format, Parsed};
use crate::locate::{Found, Located, Surroundings, locate};
use crate::model::Config;
use crate::recursion::starts_onecall;
use crate::secrets::Secrets;

/// A configuration and where it came from.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What to run with.
    pub config: Config,
    /// The file it was read from; none means that there is no file and all is default.
    pub source: Option<PathBuf>,
    /// The format that the file is written in.
    pub format: Format,
    /// Why servers are left out whose entries cannot be used, a line for each server.
    pub skipped: Vec<String>,
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
    Ok(locate(explicit, surroundings)?.load(surroundings)?)
}

impl Located {
    /// Reads what the file held when it was found, and leaves out entries that would start onecall.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn load(&self, surroundings: &Surroundings<'_>) -> Result<Loaded, ConfigErrors> {
        let warnings = self.warnings.clone();
        match &self.found {
            Some(found) => load_found(found, warnings, surroundings),
            None => Ok(Loaded { warnings, ..Loaded::default() }),
        }
    }
}

fn load_found(
    found: &Found,
    mut warnings: Vec<String>,
    surroundings: &Surroundings<'_>,
) -> Result<Loaded, ConfigErrors> {
    let (secrets, unusable) = match surroundings.secrets() {
        Ok(secrets) => (secrets, None),
        Err(error) => (Secrets::default(), Some(error.to_string())),
    };
    let environment = Environment::new(surroundings.environment).with_secrets(&secrets);
    let Parsed { mut config, format, warnings: more, skipped } = found
        .parse(&environment)
        .map_err(|errors| unusable.iter().cloned().fold(errors, ConfigErrors::with_advice))?;
    config.secrets = secrets.values().cloned().collect();
    warnings.extend(unusable);
    warnings.extend(more);
    let path = found.path.clone();
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
    if config.proxy.dynamic_servers && config.proxy.allowed_hosts.is_empty() {
        warnings.push(format!(
            "'{}' lets plans bring servers along, but 'allowed_hosts' in proxy lists no place where \
             these may be; a server on this machine is listed as 'localhost:8080'",
            path.display()
        ));
    }
    Ok(Loaded { config, source: Some(path), format, skipped, warnings })
}
