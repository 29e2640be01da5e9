//! Recognises from the text of a failure what a program tried that programs cannot do.

/// The text between a missing name and the reason.
const NOT_AVAILABLE: &str = " is not available: ";

/// The text between a missing module and the reason.
const NOT_IMPORTED: &str = "' cannot be imported: ";

/// Names and modules that belong to something that programs cannot do, by its name in
/// `onecall_core::DeniedResource`.
const DENIED_NAMES: [(&str, &[&str]); 4] = [
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
    ("files", &["fs-extra"]),
    ("processes", &["child_process", "execa"]),
    ("input", &["prompt", "readline", "readline/promises"]),
];

/// The end of a message about a path that no folder of the program has.
const OUTSIDE: &str = "(outside of the workspace)";

/// The beginning of a message about a file that does not exist.
const MISSING: &str = "ENOENT: no such file or directory, ";

/// The operation that was denied, if the failure with this text and message is about one.
pub(super) fn denied(text: &str, message: &str) -> Option<&'static str> {
    if message.ends_with(OUTSIDE) || is_missing_in_scratch(message) {
        return Some("files");
    }
    let wanted = match message.split_once(NOT_AVAILABLE) {
        Some(("require", _)) => quoted(text.split_once("require(")?.1)?,
        Some((name, _)) => name,
        None => message.strip_prefix('\'')?.split_once(NOT_IMPORTED)?.0,
    };
    let wanted = wanted.strip_prefix("node:").unwrap_or(wanted);
    DENIED_NAMES.iter().find(|(_, signs)| signs.contains(&wanted)).map(|(denied, _)| *denied)
}

/// Whether a file is missing in the scratch folder itself. That folder is empty at first, so the program
/// expects a file of the machine there. Below it, a folder that the program did not make is missing.
fn is_missing_in_scratch(message: &str) -> bool {
    let path = message.strip_prefix(MISSING).and_then(|it| it.split_once(" '/tmp/"));
    let name = path.and_then(|(_, path)| path.strip_suffix('\''));
    name.is_some_and(|name| !name.contains('/'))
}

/// The quoted text at the beginning of `text`.
fn quoted(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| ['\'', '"', '`'].contains(mark))?;
    text.strip_prefix(mark)?.split(mark).next()
}
