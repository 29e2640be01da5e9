//! The settings of the store: what is recorded of runs, where, and for how long.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::Secret;
use url::form_urlencoded;

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::locate::Directories;
use crate::parse::MEBIBYTE;
use crate::path::PathReader;
use crate::reader::{self, Section};
use crate::schema::STORE;

/// How much of a run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordLevel {
    /// Nothing is recorded.
    Off,
    /// What ran, when and how it ended, and the sizes and times of its calls, without arguments and
    /// results.
    #[default]
    Metadata,
    /// Arguments and results as well, so that a run can be replayed without servers.
    Full,
}

impl RecordLevel {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("off", Self::Off), ("metadata", Self::Metadata), ("full", Self::Full)];
}

/// Whether the output of servers and the gateway is written to log files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFiles {
    /// Logs are written to the user's state directory.
    #[default]
    On,
    /// No logs are written.
    Off,
}

impl LogFiles {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] = [("on", Self::On), ("off", Self::Off)];
}

/// The settings of the store for persistent data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The path of the file; if absent, a file in the user's state directory.
    pub path: Option<PathBuf>,
    /// The URL of the PostgreSQL database that is used in place of a file.
    pub url: Option<Secret>,
    /// How long runs are kept.
    pub max_age: Duration,
    /// The size limit of all runs; the oldest are removed first.
    pub max_bytes: u64,
    /// The size limit of the journals of all runs that have not ended, in mebibytes.
    pub journal_mb: u64,
}

/// Where the store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A file, which is created when it is first used.
    File(PathBuf),
    /// The URL of a PostgreSQL database.
    Database(Secret),
}

impl StoreLocation {
    /// Whether the store can be read without creating a file.
    #[must_use]
    pub fn exists(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Database(_) => true,
        }
    }
}

impl StoreConfig {
    /// The password in the URL of the database, if there is one.
    #[must_use]
    pub fn password(&self) -> Option<Secret> {
        let url = self.url.as_ref()?.reveal();
        let written = url.get(password_range(url)?)?;
        // A plus sign in front of the host is no space, as it is in a query.
        let encoded = format!("password={}", written.replace('+', "%2B"));
        let mut values = form_urlencoded::parse(encoded.as_bytes());
        values.next().map(|(_, password)| Secret::new(password))
    }

    /// Where the store is: the configured database or file, or else the file in the user's state
    /// directory.
    #[must_use]
    pub fn location(&self, directories: &Directories) -> Option<StoreLocation> {
        if let Some(url) = &self.url {
            return Some(StoreLocation::Database(url.clone()));
        }
        let usual = || directories.state.as_ref().map(|state| state.join("onecall/onecall.db"));
        self.path.clone().or_else(usual).map(StoreLocation::File)
    }
}

/// Where the password is in the URL of a database: in front of the host, or among the options.
fn password_range(url: &str) -> Option<Range<usize>> {
    let begin = url.find("://")? + 3;
    let end = url.get(begin..)?.find('/').map_or(url.len(), |length| begin + length);
    let at = url.get(begin..end)?.rfind('@').map(|length| begin + length);
    let colon = at.and_then(|at| Some(begin + url.get(begin..at)?.find(':')?));
    if let (Some(colon), Some(at)) = (colon, at) {
        return Some(colon + 1..at);
    }
    let option = ["?password=", "&password="]
        .iter()
        .find_map(|option| Some(url.find(option)? + option.len()))?;
    let length = url.get(option..)?.find('&').unwrap_or(url.len() - option);
    Some(option..option + length)
}

/// The URL of a database as it is written in a configuration, with a placeholder for a password that is
/// not the reference to a variable.
#[must_use]
pub fn hide_database_password(url: &str) -> String {
    let range = password_range(url).filter(|range| {
        url.get(range.clone()).is_some_and(|it| !it.is_empty() && !it.starts_with("${"))
    });
    let mut shown = url.to_owned();
    if let Some(range) = range {
        shown.replace_range(range, "[secret]");
    }
    shown
}

const DAY: u64 = 86_400;

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            path: None,
            url: None,
            max_age: Duration::from_secs(30 * DAY),
            max_bytes: 256 * MEBIBYTE,
            journal_mb: 256,
        }
    }
}

/// Reads the URL of a database. It may contain a password, so no message shows it.
fn read_url(node: &Node, environment: &Environment<'_>, report: &mut Report) -> Option<Secret> {
    let what = "'url' in store";
    let text = reader::text(node, what, report)?;
    let text = reader::check_expanded(node, what, expand(text, environment), report)?;
    if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
        let help = "as in 'postgres://onecall:${DATABASE_PASSWORD}@db.example.com/onecall'";
        let message = format!("{what} must be the address of a PostgreSQL database");
        report.add(Problem::new(node.at, message).with_help(help));
        return None;
    }
    Some(Secret::new(text))
}

pub(crate) fn read_store(
    node: &Node,
    paths: &PathReader<'_>,
    report: &mut Report,
) -> Option<StoreConfig> {
    let section = Section::open(node, "store", STORE, report)?;
    let mut store = StoreConfig::default();
    if let Some(node) = section.get("path") {
        store.path = paths.absolute(node, "'path' in store", report);
    }
    if let Some(entry) = section.entry("url") {
        if section.get("path").is_some() {
            let message = "'path' and 'url' in store exclude each other";
            let help = "the store is either a file or a database";
            report.add(Problem::new(entry.at, message).with_help(help));
        }
        store.url = read_url(entry.value, paths.environment, report);
    }
    let mut number = |key: &str, range| {
        let what = format!("'{key}' in store");
        section.get(key).and_then(|node| reader::whole_number(node, &what, range, report))
    };
    if let Some(days) = number("keep_days", 1..=36_500) {
        store.max_age = Duration::from_secs(days * DAY);
    }
    if let Some(mebibytes) = number("max_mb", 1..=1_048_576) {
        store.max_bytes = mebibytes * MEBIBYTE;
    }
    if let Some(mebibytes) = number("journal_mb", 1..=1_048_576) {
        store.journal_mb = mebibytes;
    }
    Some(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_url_is_found() {
        let cases = [
            ("postgres://ann:hunter2@db.example/x", Some("hunter2")),
            ("postgres://ann:a+b%40c%25@db.example/x", Some("a+b@c%")),
            ("postgres://ann@/x?host=/run&password=hunter2", Some("hunter2")),
            ("postgres://ann@db.example/x", None),
        ];
        for (url, expected) in cases {
            let store = StoreConfig { url: Some(Secret::new(url)), ..StoreConfig::default() };
            assert_eq!(store.password(), expected.map(Secret::new), "{url}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        let cases = [
            ("postgres://ann:hunter2@db/x", "postgres://ann:[secret]@db/x"),
            ("postgres://ann:a@b:c@db:1/x?y=z", "postgres://ann:[secret]@db:1/x?y=z"),
            ("postgres://ann:${PASSWORD}@db/x", "postgres://ann:${PASSWORD}@db/x"),
            ("postgres://ann@db/x?password=p&a=b", "postgres://ann@db/x?password=[secret]&a=b"),
            ("postgres:///x?host=/run", "postgres:///x?host=/run"),
            ("${DATABASE_URL}", "${DATABASE_URL}"),
        ];
        for (url, expected) in cases {
            assert_eq!(hide_database_password(url), expected);
        }
    }
}
