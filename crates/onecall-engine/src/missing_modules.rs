//! The parts of the standard library that the embedded Python lacks, and the hints for programs
//! that need them.

use std::sync::LazyLock;

use onecall_core::Failure;

/// The full names of modules, and of names in modules, that CPython has and the embedded Python
/// lacks: sorted, one per line.
const MISSING_NAMES: &str = include_str!("python/absent.txt");

/// A longer name is not repeated in a message.
const MAX_NAME_LENGTH: usize = 100;

/// Whether the embedded Python is known to lack this module, or this name of a module.
pub(crate) fn is_listed(name: &str) -> bool {
    static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| MISSING_NAMES.lines().collect());
    LINES.binary_search(&name).is_ok()
}

/// Whether the system's Python could have run a program instead of the embedded one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CPythonStatus<'a> {
    /// The system's Python was not tried.
    Unknown,
    /// The system's Python lacks these modules as well, one per line.
    MissingModules(&'a str),
    /// The system's Python cannot be used, for this reason.
    Unavailable(&'a str),
}

/// Adds a hint to the failure of a program on the embedded Python, if it failed because something
/// is missing there: which engine may have it.
pub(crate) fn explain(failure: Failure, alternative: CPythonStatus<'_>) -> Failure {
    match failure {
        Failure::Raised { mut traceback, error } => {
            if let Some(missing) = missing_name(&error.kind, &error.message) {
                traceback.push('\n');
                traceback.push_str(&advice(&missing, alternative));
            }
            Failure::Raised { traceback, error }
        }
        other => other,
    }
}

fn advice(missing: &str, alternative: CPythonStatus<'_>) -> String {
    match alternative {
        CPythonStatus::MissingModules(modules) if is_one_of(missing, modules) => format!(
            "Neither the embedded Python nor the system's has '{missing}'. `python` in the \
             configuration can name an interpreter or a virtual environment that has it."
        ),
        CPythonStatus::Unknown | CPythonStatus::MissingModules(_) => format!(
            "The embedded Python has no '{missing}'. Run the program with engine: cpython if the \
             system's Python has it."
        ),
        CPythonStatus::Unavailable(reason) => format!(
            "The embedded Python has no '{missing}', and the system's Python (engine: cpython) \
             cannot be used: {reason}"
        ),
    }
}

fn is_one_of(missing: &str, modules: &str) -> bool {
    let top = missing.split('.').next();
    modules.lines().any(|module| module == missing || Some(module) == top)
}

/// The module, or the name in the standard library, whose absence made a program fail.
fn missing_name(kind: &str, message: &str) -> Option<String> {
    let mut quoted = message.split('\'').skip(1).step_by(2);
    let (first, second) = (quoted.next()?, quoted.next());
    let name = match (kind, second) {
        ("ModuleNotFoundError", None) if message.starts_with("No module named ") => {
            // The native part of a module has the module's name with an underscore.
            let module = first.strip_prefix('_').filter(|name| is_listed(name));
            module.unwrap_or(first).to_owned()
        }
        ("AttributeError", Some(name)) if message.starts_with("module ") => {
            Some(format!("{first}.{name}")).filter(|name| is_listed(name))?
        }
        ("ImportError", Some(module)) if message.starts_with("cannot import name ") => {
            Some(format!("{module}.{first}")).filter(|name| is_listed(name))?
        }
        _ => return None,
    };
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    (name.len() <= MAX_NAME_LENGTH && name.chars().all(is_plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{MISSING_NAMES, is_listed, missing_name};

    #[test]
    fn every_line_is_found_and_nothing_between() {
        assert!(MISSING_NAMES.lines().is_sorted());
        for name in MISSING_NAMES.lines() {
            assert!(is_listed(name), "{name}");
            assert!(!is_listed(&format!("{name}.")), "{name}");
            assert!(!is_listed(&format!("{name}\n")), "{name}");
        }
        assert!(!is_listed("") && !is_listed("a") && !is_listed("zzz"));
    }

    #[test]
    fn what_is_missing_is_taken_from_the_message() {
        let cases = [
            ("ModuleNotFoundError", "No module named '_sqlite3'", Some("sqlite3")),
            ("ModuleNotFoundError", "No module named '_dbm'", Some("_dbm")),
            ("ModuleNotFoundError", "No module named 'pandas.core'", Some("pandas.core")),
            ("ModuleNotFoundError", "No module named 'a b'", None),
            ("ModuleNotFoundError", "No module named ''; 'json' is not a package", None),
            (
                "ImportError",
                "cannot import name 'SMTP_SSL' from 'smtplib' (/x/smtplib.py)",
                Some("smtplib.SMTP_SSL"),
            ),
            ("ImportError", "cannot import name 'nothing' from 'smtplib'", None),
            (
                "AttributeError",
                "module 'smtplib' has no attribute 'SMTP_SSL'",
                Some("smtplib.SMTP_SSL"),
            ),
            ("AttributeError", "module 'smtplib' has no attribute 'nothing'", None),
            ("AttributeError", "'str' object has no attribute 'SMTP_SSL'", None),
            ("ValueError", "No module named '_sqlite3'", None),
            ("ModuleNotFoundError", "", None),
        ];
        for (kind, message, expected) in cases {
            assert_eq!(missing_name(kind, message).as_deref(), expected, "{message}");
        }
    }
}
