//! A first pass over YAML that builds no tree. The parser copies what an alias stands for, and
//! handles nested blocks by recursion, so a small hostile file could use up the memory or the
//! stack. This pass rejects such files before the real one.

use std::hash::{Hash, Hasher};

use saphyr::{AnnotatedMapping, LoadableYamlNode, Marker, Tag, Yaml};

use crate::document::{MAX_DEPTH, Position, too_deep};
use crate::error::Problem;
use crate::yaml::{position, syntax_problem};

/// The largest indentation of a node. A nested block begins further right than its parent, or
/// equally far if it is a list in a mapping, so this limits the parser's recursion; for brackets
/// the parser has its own limit.
const MAX_INDENT: usize = 200;

/// How aliases (`*name`) are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aliases {
    /// Aliases are rejected.
    Rejected,
    /// Each is replaced by a copy of the value that its anchor names.
    Expanded,
}

/// The largest weight of a file after its aliases are expanded: one for each byte of text, and
/// [`NODE_WEIGHT`] for each value.
const MAX_EXPANDED_WEIGHT: usize = 1024 * 1024;

/// The weight of a value besides its text.
const NODE_WEIGHT: usize = 8;

/// Rejects YAML that is nested too deep, or whose aliases are not allowed or expand to too much.
pub(crate) fn check(text: &str, aliases: Aliases) -> Result<(), Problem> {
    // A lone carriage return is a line break in YAML, although editors do not count it.
    for (index, line) in text.split('\n').enumerate() {
        if line.split('\r').any(|line| is_indented_more_than(MAX_INDENT, line)) {
            return Err(too_deep(Position { line: index + 1, column: 1 }));
        }
    }
    let documents = MeasuredNode::load_from_str(text).map_err(|error| syntax_problem(&error))?;
    for document in documents {
        if let Some(at) = document.alias.filter(|_| aliases == Aliases::Rejected) {
            return Err(Problem::new(at, "the value that begins here uses an alias (*name)")
                .with_help("aliases are not supported; write the value out in each place"));
        }
        if document.depth > MAX_DEPTH {
            return Err(too_deep(document.at));
        }
        if let Some(at) = document.alias.filter(|_| document.weight > MAX_EXPANDED_WEIGHT) {
            return Err(Problem::new(
                at,
                "the aliases (*name) in the value that begins here expand to too much",
            )
            .with_help("write the values out, or remove some of them"));
        }
    }
    Ok(())
}

/// Whether a line is indented too far. Several blocks can begin on one line, as in `- - a`; all of
/// these indicators count as indentation of what follows.
fn is_indented_more_than(limit: usize, line: &str) -> bool {
    let mut characters = line.chars().peekable();
    let mut width = 0;
    while let Some(character) = characters.next() {
        let opens_block = matches!(character, '-' | '?' | ':')
            && characters.peek().is_none_or(|next| next.is_whitespace());
        if !character.is_whitespace() && !opens_block {
            return false;
        }
        width += 1;
        if width > limit {
            // Trailing spaces on an empty line do not count.
            return !line.trim().is_empty();
        }
    }
    false
}

/// The measurements of a node. Children are dropped once their collection is complete, so a
/// measured node is never deep.
struct MeasuredNode {
    at: Position,
    depth: usize,
    /// The weight of the node with all its children and expanded aliases.
    weight: usize,
    /// The position of the collection in which an alias was used.
    alias: Option<Position>,
    is_collection: bool,
    is_copy: bool,
    children: Vec<MeasuredNode>,
    /// Never filled: keys and values are both counted as children.
    mapping: AnnotatedMapping<'static, MeasuredNode>,
}

impl MeasuredNode {
    fn leaf() -> Self {
        Self {
            at: Position::START,
            depth: 0,
            weight: NODE_WEIGHT,
            alias: None,
            is_collection: false,
            is_copy: false,
            children: Vec::new(),
            mapping: AnnotatedMapping::new(),
        }
    }
}

/// The loader clones a node that has an anchor, to keep the clone, and again for each alias that
/// refers to it. So a clone in the tree is an alias. Clones have no children and only store the
/// depth and weight of a real copy.
impl Clone for MeasuredNode {
    fn clone(&self) -> Self {
        Self { is_copy: true, depth: self.depth, weight: self.weight, ..Self::leaf() }
    }
}

// The loader requires hashable keys, but a measured node is never put into a map.
impl PartialEq for MeasuredNode {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for MeasuredNode {}

impl Hash for MeasuredNode {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<'input> LoadableYamlNode<'input> for MeasuredNode {
    type HashKey = Self;

    fn from_bare_yaml(yaml: Yaml<'input>) -> Self {
        let is_collection = matches!(yaml, Yaml::Sequence(_) | Yaml::Mapping(_));
        let text = match &yaml {
            Yaml::Value(saphyr::Scalar::String(text)) | Yaml::Representation(text, ..) => {
                text.len()
            }
            _ => 0,
        };
        Self { is_collection, weight: NODE_WEIGHT + text, ..Self::leaf() }
    }

    fn is_sequence(&self) -> bool {
        self.is_collection
    }

    fn is_mapping(&self) -> bool {
        false
    }

    fn is_badvalue(&self) -> bool {
        false
    }

    fn sequence_mut(&mut self) -> &mut Vec<Self> {
        &mut self.children
    }

    fn mapping_mut(&mut self) -> &mut AnnotatedMapping<'static, Self> {
        &mut self.mapping
    }

    fn into_tagged(self, _: std::borrow::Cow<'input, Tag>) -> Self {
        self
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::leaf())
    }

    fn with_start_marker(mut self, marker: Marker) -> Self {
        self.at = position(&marker);
        self
    }

    fn with_end_marker(mut self, _: Marker) -> Self {
        for child in std::mem::take(&mut self.children) {
            self.depth = self.depth.max(child.depth + 1);
            self.weight = self.weight.saturating_add(child.weight);
            let alias = if child.is_copy { Some(self.at) } else { child.alias };
            self.alias = self.alias.or(alias);
        }
        self
    }
}
