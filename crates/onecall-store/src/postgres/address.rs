//! The address of the database, and how it is shown.

use std::time::Duration;

use onecall_core::Secret;
use onecall_core::storage::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// How long a connection may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the database may work on one statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time, the database ends a transaction of a process that has disappeared or hangs. Others wait for
/// its locks no longer than a statement may take, so that they do not fail because of it.
const IDLE_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(3);

const _: () = assert!(IDLE_TRANSACTION_TIMEOUT.as_secs() < STATEMENT_TIMEOUT.as_secs());

/// The schema that has the tables of onecall.
pub(super) const SCHEMA: &str = "onecall";

/// How to reach a database.
pub(super) struct Address {
    pub(super) config: Config,
    /// The address without user and password, for messages.
    pub(super) shown: String,
}

impl Address {
    pub(super) fn parse(url: &Secret) -> Result<Self, StoreError> {
        // The error names the option that is wrong, and no value.
        let mut config: Config = url.reveal().parse().map_err(|error| {
            let reason = std::error::Error::source(&error).map_or_else(
                || "`url` in store is not a URL of PostgreSQL".to_owned(),
                |cause| format!("`url` in store is not a URL of PostgreSQL: {cause}"),
            );
            StoreError::Disabled { reason }
        })?;
        let options = format!(
            "{} -c search_path={SCHEMA} -c statement_timeout={} -c lock_timeout={} \
             -c idle_in_transaction_session_timeout={} -c client_min_messages=warning",
            config.get_options().unwrap_or_default(),
            STATEMENT_TIMEOUT.as_millis(),
            STATEMENT_TIMEOUT.as_millis(),
            IDLE_TRANSACTION_TIMEOUT.as_millis(),
        );
        config.options(options.trim_start());
        config.connect_timeout(CONNECT_TIMEOUT);
        config.tcp_user_timeout(2 * STATEMENT_TIMEOUT);
        config.keepalives_idle(2 * STATEMENT_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("onecall");
        }
        let shown = shown(&config);
        Ok(Self { config, shown })
    }
}

fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(String::new, ToString::to_string),
    };
    let port = config.get_ports().first().map_or_else(String::new, |port| format!(":{port}"));
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{host}{port}/{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let cases = [
            ("postgres://ann:hunter2@db.example:5433/calls", "postgres://db.example:5433/calls"),
            ("postgresql://ann:hunter2@db.example/calls", "postgres://db.example:5432/calls"),
            ("postgres://ann@/calls?host=/run/pg&password=hunter2", "postgres:///run/pg/calls"),
        ];
        for (url, expected) in cases {
            let address = Address::parse(&Secret::new(url)).unwrap();
            assert_eq!(address.shown, expected, "{url}");
            assert!(!format!("{:?}", address.config).contains("hunter2"), "{url}");
        }
    }

    #[test]
    fn an_error_about_an_address_does_not_show_it() {
        let urls = [
            "postgres://ann:hunter2@db.example:hunter2/calls",
            "postgres://ann:hunter2@db.example/calls?sslmode=hunter2",
            "postgres://ann:hunter2@db.example/calls?hunter2=1",
            "mysql://ann:hunter2@db.example/calls",
            "hunter2",
        ];
        for url in urls {
            let Err(error) = Address::parse(&Secret::new(url)) else { panic!("{url}") };
            let text = format!("{error} {error:?}");
            assert!(!text.contains("hunter2") || url.contains("?hunter2="), "{text}");
        }
    }
}
