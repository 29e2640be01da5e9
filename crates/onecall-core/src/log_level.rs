//! The severity of log messages that servers send to clients over the protocol.

/// How severe a log message is. The order is that of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// General information.
    Info,
    /// Normal but significant events.
    Notice,
    /// Conditions that may become errors.
    Warning,
    /// Errors.
    Error,
    /// Failures of a component.
    Critical,
    /// Conditions that need action at once.
    Alert,
    /// The server is unusable.
    Emergency,
}

impl LogLevel {
    /// Every level with its name in the protocol, from the least severe to the most severe.
    pub const NAMES: [(&str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    /// The level with this name in the protocol.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, level)| level)
    }

    /// The name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}
