//! Reads typed values from the tree and reports mismatches. A function that returns `None` has
//! added a problem to the report.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use onecall_core::nearest::nearest;

use crate::document::{Node, Position, Scalar, ScalarKind, Value, duplicate_key_problem};
use crate::error::{Problem, Report};
use crate::expand::{Environment, ExpandError, expand, expand_path};
use crate::schema::Key;

pub(crate) const MAX_SECONDS: u64 = 86_400;

/// A key of a mapping with its value.
pub(crate) struct Entry<'n> {
    pub(crate) key: &'n str,
    pub(crate) at: Position,
    pub(crate) value: &'n Node,
}

/// The entries of a mapping in the order of the file, without duplicate keys; null counts as empty.
pub(crate) fn entries<'n>(
    node: &'n Node,
    what: &str,
    report: &mut Report,
) -> Option<Vec<Entry<'n>>> {
    let pairs = match &node.value {
        Value::Mapping(pairs) => pairs,
        _ if node.is_null() => return Some(Vec::new()),
        _ => return mismatch(node, what, "a mapping", report),
    };
    let mut first_lines = HashMap::new();
    let mut entries = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let text = match &key.value {
            Value::Scalar(Scalar { text, kind }) if *kind != ScalarKind::Null => text.as_str(),
            _ => {
                let message = format!("a key in {what} must be text, not {}", key.describe());
                report.add(Problem::new(key.at, message));
                continue;
            }
        };
        match first_lines.get(text) {
            Some(line) => report.add(duplicate_key_problem(text, *line, key.at)),
            None => {
                first_lines.insert(text, key.at.line);
                entries.push(Entry { key: text, at: key.at, value });
            }
        }
    }
    Some(entries)
}

/// A mapping with known keys.
pub(crate) struct Section<'n> {
    entries: Vec<Entry<'n>>,
}

impl<'n> Section<'n> {
    /// Opens `node`; `what` is its name in messages. Unknown keys are reported, and the rest is
    /// still read.
    pub(crate) fn open(
        node: &'n Node,
        what: &str,
        keys: &[Key],
        report: &mut Report,
    ) -> Option<Self> {
        let entries = entries(node, what, report)?;
        let valid: Vec<&str> = keys.iter().map(|key| key.name).collect();
        for entry in entries.iter().filter(|entry| !valid.contains(&entry.key)) {
            let message = format!("unknown key '{}' in {what}", entry.key);
            let help = suggest_key(entry.key, &valid);
            report.add(Problem::new(entry.at, message).with_help(help));
        }
        Some(Self { entries })
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry<'n>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| entry.value)
    }
}

/// A suggestion for an unknown key: the most similar valid one, or all valid ones.
pub(crate) fn suggest_key(key: &str, valid: &[&str]) -> String {
    match nearest(key, valid.iter().copied()) {
        Some(key) => format!("did you mean '{key}'?"),
        None => {
            let shown: Vec<_> = valid.iter().copied().filter(|key| !key.starts_with('$')).collect();
            format!("valid keys are {}", shown.join(", "))
        }
    }
}

/// Reads a text.
pub(crate) fn text<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n str> {
    match &node.value {
        Value::Scalar(Scalar { text, kind: ScalarKind::Text }) => Some(text),
        _ => mismatch(node, what, "text", report),
    }
}

/// Reads a text, or a number or boolean as it was written, because people write `PORT: 8080`.
pub(crate) fn scalar_text<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n str> {
    match &node.value {
        Value::Scalar(Scalar { text, kind }) if *kind != ScalarKind::Null => Some(text),
        _ => {
            let message = format!("{what} must be text, not {}", node.describe());
            let problem = Problem::new(node.at, message);
            report.add(if node.is_null() {
                problem.with_help("write \"\" for an empty value")
            } else {
                problem
            });
            None
        }
    }
}

/// Reads one of a few words, each of which stands for a value. `kind` describes them in messages.
pub(crate) fn choice<T: Copy, const N: usize>(
    node: &Node,
    what: &str,
    kind: &str,
    choices: &[(&str, T); N],
    report: &mut Report,
) -> Option<T> {
    let text = match &node.value {
        Value::Scalar(scalar) if !node.is_null() => &scalar.text,
        _ => return mismatch(node, what, "text", report),
    };
    let chosen = choices.iter().find(|(name, _)| name == text);
    if chosen.is_none() {
        let names = choices.each_ref().map(|(name, _)| *name);
        let message = format!("'{text}' is not {kind}; it can be {}", names.join(", "));
        let problem = Problem::new(node.at, message);
        report.add(match nearest(text, names.iter().copied()) {
            Some(nearest) => problem.with_help(format!("did you mean '{nearest}'?")),
            None => problem,
        });
    }
    chosen.map(|(_, value)| *value)
}

/// Reads the path of a file or a folder, and expands its variables and the home directory.
pub(crate) fn path(
    node: &Node,
    what: &str,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<String> {
    let text = text(node, what, report)?;
    check_expanded(node, what, expand_path(text, environment, expand), report)
}

/// Checks the expanded text of `node`. A NUL is rejected, because no process can be started with
/// it.
pub(crate) fn check_expanded(
    node: &Node,
    what: &str,
    result: Result<String, ExpandError>,
    report: &mut Report,
) -> Option<String> {
    match result {
        Ok(text) if text.contains('\0') => {
            report.add(Problem::new(node.at, format!("{what} holds a NUL character")));
            None
        }
        Ok(text) => Some(text),
        Err(error) => {
            let message = format!("{error} (in {what})");
            report.add(Problem::new(node.at, message).with_help(error.help()));
            None
        }
    }
}

pub(crate) fn not_empty(
    node: &Node,
    what: &str,
    text: String,
    report: &mut Report,
) -> Option<String> {
    if text.trim().is_empty() {
        report.add(Problem::new(node.at, format!("{what} must not be empty")));
        return None;
    }
    Some(text)
}

pub(crate) fn boolean(node: &Node, what: &str, report: &mut Report) -> Option<bool> {
    match node.value {
        Value::Scalar(Scalar { kind: ScalarKind::Boolean(value), .. }) => Some(value),
        _ => mismatch(node, what, "true or false", report),
    }
}

pub(crate) fn list<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n [Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        _ => mismatch(node, what, "a list", report),
    }
}

pub(crate) fn seconds(node: &Node, what: &str, report: &mut Report) -> Option<Duration> {
    let duration = match node.value {
        Value::Scalar(Scalar { kind: ScalarKind::Integer(value), .. }) => {
            u64::try_from(value).ok().map(Duration::from_secs)
        }
        Value::Scalar(Scalar { kind: ScalarKind::Float(value), .. }) => {
            Duration::try_from_secs_f64(value).ok()
        }
        _ => None,
    };
    let allowed =
        |duration: &Duration| !duration.is_zero() && *duration <= Duration::from_secs(MAX_SECONDS);
    duration.filter(allowed).or_else(|| {
        let range = format!("{what} must be a number above 0 and at most {MAX_SECONDS}");
        out_of_range(node, range, report)
    })
}

pub(crate) fn whole_number(
    node: &Node,
    what: &str,
    range: RangeInclusive<u64>,
    report: &mut Report,
) -> Option<u64> {
    let number = match node.value {
        Value::Scalar(Scalar { kind: ScalarKind::Integer(value), .. }) => u64::try_from(value).ok(),
        _ => None,
    };
    number.filter(|number| range.contains(number)).or_else(|| {
        let range =
            format!("{what} must be a whole number from {} to {}", range.start(), range.end());
        out_of_range(node, range, report)
    })
}

fn out_of_range<T>(node: &Node, mut message: String, report: &mut Report) -> Option<T> {
    if node.describe() != "a number" {
        message = format!("{message}, not {}", node.describe());
    }
    report.add(Problem::new(node.at, message));
    None
}

fn mismatch<T>(node: &Node, what: &str, expected: &str, report: &mut Report) -> Option<T> {
    let message = format!("{what} must be {expected}, not {}", node.describe());
    let problem = Problem::new(node.at, message);
    report.add(match (expected, node.describe()) {
        ("text", "a number" | "a boolean") => problem.with_help("put it in quotes"),
        _ => problem,
    });
    None
}
