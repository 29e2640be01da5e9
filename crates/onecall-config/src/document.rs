//! A configuration file as a tree of nodes with positions, read from YAML or JSON.

use std::borrow::Cow;

use crate::error::Problem;
use crate::yaml_limits::Aliases;
use crate::{json, merge, yaml};

/// The deepest nesting that is accepted. No valid configuration is deeper, and it makes recursion
/// over the tree safe.
pub(crate) const MAX_DEPTH: usize = 64;

/// A position in the file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// The position after the last character of `text`. A carriage return alone ends a line, as it
    /// does in YAML.
    pub(crate) fn end_of(text: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let mut lines = text.split(['\n', '\r']);
        let last = lines.next_back().unwrap_or_default();
        Self { column: last.chars().count() + 1, line: lines.count() + 1 }
    }
}

/// A value and its position.
#[derive(Debug)]
pub struct Node {
    /// The position where the value begins; for a block, where its first entry begins.
    pub at: Position,
    /// The value.
    pub value: Value,
}

/// The kinds of values.
#[derive(Debug)]
pub enum Value {
    /// A value without children.
    Scalar(Scalar),
    /// A list, in the order of the file.
    List(Vec<Node>),
    /// A mapping, in the order of the file. Keys may be any node and may repeat.
    Mapping(Vec<(Node, Node)>),
}

/// A scalar with the text that the user wrote: `0x10` stays `0x10` in a variable.
#[derive(Debug)]
pub struct Scalar {
    /// The text without quotes.
    pub text: String,
    /// The resolved type and value.
    pub kind: ScalarKind,
}

/// The type of a scalar by YAML's core schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarKind {
    /// A null value.
    Null,
    /// A boolean: `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text, which is any other scalar.
    Text,
}

impl Scalar {
    pub(crate) fn text(text: String) -> Self {
        Self { text, kind: ScalarKind::Text }
    }

    /// An unquoted scalar, resolved by YAML's core schema, which includes the literals and numbers
    /// of JSON.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        let resolved = saphyr::Scalar::parse_from_cow(Cow::Borrowed(text));
        Self { text: text.to_owned(), kind: ScalarKind::of(&resolved) }
    }
}

impl ScalarKind {
    pub(crate) fn of(scalar: &saphyr::Scalar<'_>) -> Self {
        match scalar {
            saphyr::Scalar::Null => Self::Null,
            saphyr::Scalar::Boolean(value) => Self::Boolean(*value),
            saphyr::Scalar::Integer(value) => Self::Integer(*value),
            saphyr::Scalar::FloatingPoint(value) => Self::Float(value.into_inner()),
            saphyr::Scalar::String(_) => Self::Text,
        }
    }

    /// The canonical text of a value that is not a text.
    pub(crate) fn canonical(self) -> String {
        match self {
            Self::Null | Self::Text => String::new(),
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
        }
    }
}

impl Node {
    pub(crate) fn null(at: Position) -> Self {
        let scalar = Scalar { text: String::new(), kind: ScalarKind::Null };
        Self { at, value: Value::Scalar(scalar) }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { kind: ScalarKind::Null, .. }))
    }

    /// The text of a scalar as it is written; `None` for null and for collections.
    pub(crate) fn as_written(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar { text, kind }) if *kind != ScalarKind::Null => Some(text),
            _ => None,
        }
    }

    /// The type of the node, for messages that must not show the value itself.
    pub(crate) fn describe(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Mapping(_) => "a mapping",
            Value::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => "null",
                ScalarKind::Boolean(_) => "a boolean",
                ScalarKind::Integer(_) | ScalarKind::Float(_) => "a number",
                ScalarKind::Text => "text",
            },
        }
    }
}

/// Parses `text`, which is YAML or JSON.
///
/// JSON has its own parser, although YAML includes it in theory: the YAML parser rejects tabs and
/// surrogate pairs. Text that only looks like JSON is parsed as YAML.
///
/// # Errors
/// The first problem and its position.
pub fn read(text: &str, is_named_json: bool) -> Result<Node, Problem> {
    read_with(text, is_named_json, Aliases::Rejected)
}

/// Parses `text` like [`read`], and replaces YAML's aliases (`*name`) and merge keys (`<<`) by what
/// they stand for.
///
/// # Errors
/// The first problem and its position, also if the aliases expand to more than the limit.
pub fn read_expanded(text: &str, is_named_json: bool) -> Result<Node, Problem> {
    merge::resolve(read_with(text, is_named_json, Aliases::Expanded)?)
}

fn read_with(text: &str, is_named_json: bool, aliases: Aliases) -> Result<Node, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return yaml::read(text, aliases);
    }
    json::read(text).or_else(|json_problem| {
        yaml::read(text, aliases).map_err(
            |yaml_problem| {
                if is_named_json { json_problem } else { yaml_problem }
            },
        )
    })
}

pub(crate) fn too_deep(at: Position) -> Problem {
    Problem::new(at, format!("the file is nested more than {MAX_DEPTH} levels deep"))
        .with_help("a configuration needs five levels; check the brackets and the indentation")
}

pub(crate) fn duplicate_key_problem(key: &str, first_line: usize, second: Position) -> Problem {
    Problem::new(
        second,
        format!("key '{key}' is given twice, on line {first_line} and on line {}", second.line),
    )
    .with_help("remove or rename one of them")
}
