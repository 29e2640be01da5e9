//! Parses YAML into a tree with positions.

use saphyr::{LoadableYamlNode, MarkedYaml, Marker, ScanError, YamlData};

use crate::document::{Node, Position, Scalar, ScalarKind, Value, duplicate_key_problem};
use crate::error::Problem;
use crate::yaml_limits::{self, Aliases};

const DUPLICATE_KEY: &str = "duplicated key in mapping";

pub(crate) fn read(text: &str, aliases: Aliases) -> Result<Node, Problem> {
    yaml_limits::check(text, aliases)?;
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        if error.info() == DUPLICATE_KEY {
            duplicate_key(text, position(error.marker()))
        } else {
            syntax_problem(&error)
        }
    })?;
    let mut documents = documents.into_iter();
    let Some(document) = documents.next() else {
        return Ok(Node::null(Position::START));
    };
    if let Some(second) = documents.next() {
        let at = position(&second.span.start);
        return Err(Problem::new(at, "the file has a second YAML document")
            .with_help("keep one document, without '---' between parts"));
    }
    if matches!(document.data, YamlData::BadValue) && document.span.is_empty() {
        return Ok(Node::null(Position::START));
    }
    Source::new(text).node(document)
}

pub(crate) fn position(marker: &Marker) -> Position {
    Position { line: marker.line().max(1), column: marker.col() + 1 }
}

pub(crate) fn syntax_problem(error: &ScanError) -> Problem {
    Problem::new(position(error.marker()), format!("not valid YAML: {}", error.info()))
}

/// The text, sliced by the parser's positions, which count characters.
struct Source<'t> {
    text: &'t str,
    /// The byte offset of each character; empty if the text is ASCII.
    byte_offsets: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        let byte_offsets = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(offset, _)| offset).collect()
        };
        Self { text, byte_offsets }
    }

    fn slice(&self, start: &Marker, end: &Marker) -> &'t str {
        let byte = |index: usize| {
            if self.byte_offsets.is_empty() {
                index
            } else {
                self.byte_offsets.get(index).copied().unwrap_or(self.text.len())
            }
        };
        self.text.get(byte(start.index())..byte(end.index())).unwrap_or_default()
    }

    fn node(&self, yaml: MarkedYaml<'_>) -> Result<Node, Problem> {
        let at = position(&yaml.span.start);
        let value = match yaml.data {
            YamlData::Value(saphyr::Scalar::String(text)) => {
                Value::Scalar(Scalar::text(text.into_owned()))
            }
            YamlData::Value(scalar) => {
                let kind = ScalarKind::of(&scalar);
                let source = self.slice(&yaml.span.start, &yaml.span.end).trim();
                Value::Scalar(Scalar { text: written(source, kind), kind })
            }
            YamlData::Sequence(items) => {
                let nodes: Result<_, _> = items.into_iter().map(|item| self.node(item)).collect();
                Value::List(nodes?)
            }
            YamlData::Mapping(entries) => {
                let nodes: Result<_, _> = entries
                    .into_iter()
                    .map(|(key, value)| Ok((self.node(key)?, self.node(value)?)))
                    .collect();
                Value::Mapping(nodes?)
            }
            YamlData::Tagged(..)
            | YamlData::BadValue
            | YamlData::Representation(..)
            | YamlData::Alias(_) => {
                return Err(Problem::new(at, "a tag (!name) that cannot be used here")
                    .with_help("remove the tag; quote the value if it is meant as text"));
            }
        };
        Ok(Node { at, value })
    }
}

/// The written text of a scalar that is not a string, from its source. Anchors and tags are
/// removed; for an alias the canonical text is used.
fn written(source: &str, kind: ScalarKind) -> String {
    if source.starts_with('*') {
        return kind.canonical();
    }
    let is_property = |word: &&str| word.starts_with(['&', '!']);
    let text = source.split_whitespace().next_back().filter(|word| !is_property(word));
    text.unwrap_or_default().to_owned()
}

/// Creates the problem for a duplicate key. The parser reports the position of the second key; the
/// first one is found in the text if the mapping has one key per line.
fn duplicate_key(text: &str, at: Position) -> Problem {
    let lines: Vec<&str> = text.lines().take(at.line).collect();
    let key_in = |line: &str| {
        let indented: String = line.chars().skip(at.column - 1).collect();
        let (key, _) = indented.split_once(':')?;
        Some(key.trim().trim_matches(['"', '\'']).to_owned()).filter(|key| !key.is_empty())
    };
    let indent = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '-')).count();
    let first = lines.split_last().and_then(|(last, earlier)| {
        let key = key_in(last)?;
        let candidates = earlier.iter().enumerate().rev();
        let mut mapping = candidates
            .filter(|(_, line)| !line.trim_start().starts_with('#') && !line.trim().is_empty())
            .take_while(|(_, line)| indent(line) + 1 >= at.column)
            .filter(|(_, line)| indent(line) + 1 == at.column);
        let (index, _) = mapping.find(|(_, line)| key_in(line).as_ref() == Some(&key))?;
        Some((key, index + 1))
    });
    match first {
        Some((key, line)) => duplicate_key_problem(&key, line, at),
        None => Problem::new(at, "this key is given twice in one mapping")
            .with_help("remove or rename one of them"),
    }
}
