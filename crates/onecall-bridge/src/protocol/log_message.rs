//! Log messages that a server sends over the protocol. They are cut to a safe length and written to
//! the log of the gateway; a client that wants them gets those of its own calls.

use std::borrow::Cow;

use onecall_core::text::one_line;
use onecall_core::{LogLevel, ServerName};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::info;

use crate::supervision::status::SERVER_LOG_TARGET;

/// The longest message, logger name and severity that are kept, in characters.
const MAX_MESSAGE: usize = 8 * 1024;
const MAX_LOGGER: usize = 100;
const MAX_SEVERITY: usize = 20;

/// The parameters of `notifications/message`.
#[derive(Deserialize)]
struct LogMessage<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow, default)]
    logger: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The severity of a log message; `None` if it has none that the protocol knows.
pub(crate) fn level(params: &RawValue) -> Option<LogLevel> {
    let LogMessage { level, .. } = serde_json::from_str(params.get()).ok()?;
    LogLevel::named(&level)
}

/// Writes a log message of `server` to the log, with the user that the server belongs to. A malformed
/// message is ignored.
pub(crate) fn log(server: &ServerName, user: Option<&str>, params: &RawValue) {
    let Ok(LogMessage { level, logger, data }) = serde_json::from_str(params.get()) else { return };
    // Most servers send a string, which is logged without quotes.
    let text: Option<String> = serde_json::from_str(data.get()).ok();
    let text = one_line(text.as_deref().unwrap_or(data.get()).trim_end(), MAX_MESSAGE);
    let severity = one_line(&level, MAX_SEVERITY);
    let logger = logger.map(|logger| one_line(&logger, MAX_LOGGER));
    let logger = logger.filter(|logger| !logger.is_empty());
    let prefix = logger.map(|logger| format!("{logger}: ")).unwrap_or_default();
    info!(target: SERVER_LOG_TARGET, %server, user, severity, "{prefix}{text}");
}
