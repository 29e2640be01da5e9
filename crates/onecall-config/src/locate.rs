//! Finds the configuration file and reads it once, so that the bytes that were checked are the
//! bytes that are used.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::trust::{TrustError, TrustStore};

/// The largest configuration file that is accepted.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The environment variable of ptc-mcp that names a configuration file.
pub const PTC_MCP_VARIABLE: &str = "PTC_MCP_CONFIG";

/// The variables that can name a configuration file, in order of priority.
const VARIABLES: [&str; 2] = ["ONECALL_CONFIG", PTC_MCP_VARIABLE];

/// The name of ptc-mcp's configuration file.
pub(crate) const PTC_MCP_NAME: &str = "config.yaml";

/// The file names that are looked for in the working directory, in this order.
pub const LOCAL_NAMES: [&str; 2] = ["onecall.yaml", PTC_MCP_NAME];

/// What the search for the configuration has to know about the process.
pub struct ProcessContext<'a> {
    /// A function that looks up an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The directory in which onecall was started.
    pub working_directory: PathBuf,
    /// The user's own directories.
    pub directories: Directories,
    /// The executable that is running, to detect entries that would start it again.
    pub executable: Option<PathBuf>,
}

impl ProcessContext<'static> {
    /// The context of this process.
    #[must_use]
    pub fn current() -> Self {
        let environment = &|name: &str| std::env::var(name).ok();
        Self {
            environment,
            working_directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            directories: Directories::from_environment(environment),
            executable: std::env::current_exe().ok(),
        }
    }
}

/// The user's base directories, without the `onecall` below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    /// The directory for configuration files.
    pub config: Option<PathBuf>,
    /// The directory for state files.
    pub state: Option<PathBuf>,
}

impl Directories {
    /// Determines the directories by the XDG rules: the variable if it is an absolute path,
    /// otherwise a directory below `HOME`.
    #[must_use]
    pub fn from_environment(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let absolute =
            |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = |path| absolute("HOME").map(|home| home.join(path));
        Self {
            config: absolute("XDG_CONFIG_HOME").or_else(|| below_home(".config")),
            state: absolute("XDG_STATE_HOME").or_else(|| below_home(".local/state")),
        }
    }

    /// The path of the user's own configuration file, whether or not it exists.
    #[must_use]
    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_deref().map(|config| config.join("onecall").join("config.yaml"))
    }
}

/// The result of the search.
#[derive(Debug, Default)]
pub struct LocatedConfig {
    /// The file to use, if there is one.
    pub found: Option<FoundConfigFile>,
    /// Warnings for the user, one line each.
    pub warnings: Vec<String>,
}

/// A configuration file that may be used.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundConfigFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The content of the file when it was chosen.
    pub bytes: Vec<u8>,
    /// Why it was chosen.
    pub origin: ConfigOrigin,
}

/// Why a configuration file was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// The file was named, by `--config` or by this variable.
    Named(&'static str),
    /// The file is in the working directory, and is trusted.
    WorkingDirectory,
    /// The file is the user's own.
    User,
}

/// Finds the configuration: `explicit`, or else the file that a variable names, or else a trusted
/// file in the working directory, or else the user's own file.
///
/// # Errors
/// If a file that was named does not exist, or the chosen one cannot be read.
pub fn locate(
    explicit: Option<&Path>,
    context: &ProcessContext<'_>,
) -> Result<LocatedConfig, ConfigError> {
    if let Some((path, origin)) = named_file(explicit, context) {
        let found = read_named(context.working_directory.join(path), origin)?;
        return Ok(LocatedConfig { found: Some(found), warnings: Vec::new() });
    }
    let mut warnings = Vec::new();
    for name in LOCAL_NAMES {
        let path = context.working_directory.join(name);
        if !path.is_file() {
            continue;
        }
        match read_if_trusted(&path, context.directories.state.as_deref()) {
            Ok(bytes) => {
                let found = FoundConfigFile { path, bytes, origin: ConfigOrigin::WorkingDirectory };
                return Ok(LocatedConfig { found: Some(found), warnings });
            }
            Err(reason) => warnings.extend(reason.warnings(&path)),
        }
    }
    let user_file = context.directories.config_file().filter(|path| path.exists());
    let found = match user_file {
        Some(path) => {
            Some(FoundConfigFile { bytes: read_file(&path)?, path, origin: ConfigOrigin::User })
        }
        None => None,
    };
    Ok(LocatedConfig { found, warnings })
}

/// All files that can affect the result of [`locate`] with these arguments, in order of priority. A
/// change of any of them may lead to another configuration.
#[must_use]
pub fn candidate_files(explicit: Option<&Path>, context: &ProcessContext<'_>) -> Vec<PathBuf> {
    if let Some((path, _)) = named_file(explicit, context) {
        return vec![context.working_directory.join(path)];
    }
    let local = LOCAL_NAMES.iter().map(|name| context.working_directory.join(name));
    let user = context.directories.config_file();
    let trust = context
        .directories
        .state
        .as_deref()
        .map(|state| TrustStore::at(state).file().to_path_buf());
    local.chain(user).chain(trust).collect()
}

/// The file to write configuration changes to, whether or not it exists, and how it was chosen;
/// `None` if the user's configuration directory is unknown. A file in the working directory is
/// chosen only if it was trusted before, because another author may have put it there.
#[must_use]
pub fn file_to_edit(
    explicit: Option<&Path>,
    context: &ProcessContext<'_>,
) -> Option<(PathBuf, ConfigOrigin)> {
    let directory = &context.working_directory;
    if let Some((path, by)) = named_file(explicit, context) {
        return Some((directory.join(path), ConfigOrigin::Named(by)));
    }
    let is_known = |path: &PathBuf| {
        let store = context.directories.state.as_deref().map(TrustStore::at);
        path.is_file() && store.is_some_and(|store| store.has_approved(path).unwrap_or(false))
    };
    let local = LOCAL_NAMES.map(|name| directory.join(name)).into_iter().find(is_known);
    let local = local.map(|path| (path, ConfigOrigin::WorkingDirectory));
    local.or_else(|| Some((context.directories.config_file()?, ConfigOrigin::User)))
}

/// Reads a file of at most [`MAX_FILE_BYTES`].
///
/// # Errors
/// If it cannot be read or is larger.
pub fn read_file(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes =
        read().map_err(|reason| ConfigError::Unreadable { path: path.to_path_buf(), reason })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_FILE_BYTES) {
        Ok(bytes)
    } else {
        Err(ConfigError::TooLarge { path: path.to_path_buf() })
    }
}

fn named_file(
    explicit: Option<&Path>,
    context: &ProcessContext<'_>,
) -> Option<(PathBuf, &'static str)> {
    let from_variable = |name| {
        let value = (context.environment)(name).filter(|value| !value.is_empty())?;
        Some((PathBuf::from(value), name))
    };
    explicit
        .map(|path| (path.to_path_buf(), "--config"))
        .or_else(|| VARIABLES.into_iter().find_map(from_variable))
}

fn read_named(path: PathBuf, origin: &'static str) -> Result<FoundConfigFile, ConfigError> {
    match read_file(&path) {
        Ok(bytes) => Ok(FoundConfigFile { path, bytes, origin: ConfigOrigin::Named(origin) }),
        Err(ConfigError::Unreadable { path, reason })
            if reason.kind() == io::ErrorKind::NotFound =>
        {
            Err(ConfigError::NotFound { path, origin })
        }
        Err(error) => Err(error),
    }
}

/// Why a file in the working directory is not used.
enum SkipReason {
    Untrusted,
    Changed,
    NoStateDirectory,
    Store(TrustError),
    Unreadable(ConfigError),
}

fn read_if_trusted(path: &Path, state: Option<&Path>) -> Result<Vec<u8>, SkipReason> {
    let store = TrustStore::at(state.ok_or(SkipReason::NoStateDirectory)?);
    if !store.has_approved(path).map_err(SkipReason::Store)? {
        return Err(SkipReason::Untrusted);
    }
    let bytes = read_file(path).map_err(SkipReason::Unreadable)?;
    match store.is_trusted(path, &bytes).map_err(SkipReason::Store)? {
        true => Ok(bytes),
        false => Err(SkipReason::Changed),
    }
}

impl SkipReason {
    fn warnings(&self, path: &Path) -> Vec<String> {
        let shown = path.display();
        let command =
            format!("`onecall trust {}`", onecall_core::text::shell_word(&path.to_string_lossy()));
        let skipped = |why: &str| {
            format!("'{shown}' is not read: {why}; read it yourself, then run {command}")
        };
        match self {
            Self::Untrusted => vec![skipped("it is not trusted, and it could start programs")],
            Self::Changed => vec![skipped("it has changed since you trusted it")],
            Self::NoStateDirectory => vec![format!(
                "'{shown}' is not read: without HOME or XDG_STATE_HOME there is no record of trust; name it with --config"
            )],
            Self::Store(error) => vec![error.to_string(), skipped("it is not trusted")],
            Self::Unreadable(error) => vec![error.to_string()],
        }
    }
}
