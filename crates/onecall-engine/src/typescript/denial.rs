//! What a program tried that programs cannot do, as far as the text of its failure shows.

/// What stands in front of the reason where a name is not there.
const ABSENT: &str = " is not available: ";

/// The same where a module is not there.
const NOT_IMPORTED: &str = "' cannot be imported: ";

/// Names and modules that stand for something that programs cannot do, by the name of that in
/// `onecall_core::Denied`.
const SIGNS: [(&str, &[&str]); 4] = [
    (
        "network",
        &[
            "fetch",
            "XMLHttpRequest",
            "WebSocket",
            "EventSource",
            "http",
            "https",
            "http2",
            "net",
            "tls",
            "dns",
            "axios",
            "got",
            "node-fetch",
            "undici",
            "ws",
        ],
    ),
    ("files", &["fs", "fs/promises", "fs-extra"]),
    ("processes", &["child_process", "execa"]),
    ("input", &["prompt", "readline", "readline/promises"]),
];

/// What a failure with this text and message is about, if it is about something that programs
/// cannot do.
pub(super) fn denied(text: &str, message: &str) -> Option<&'static str> {
    let wanted = match message.split_once(ABSENT) {
        Some(("require", _)) => quoted(text.split_once("require(")?.1)?,
        Some((name, _)) => name,
        None => message.strip_prefix('\'')?.split_once(NOT_IMPORTED)?.0,
    };
    let wanted = wanted.strip_prefix("node:").unwrap_or(wanted);
    SIGNS.iter().find(|(_, signs)| signs.contains(&wanted)).map(|(denied, _)| *denied)
}

/// The text in quotation marks that `text` begins with.
fn quoted(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| ['\'', '"', '`'].contains(mark))?;
    text.strip_prefix(mark)?.split(mark).next()
}
