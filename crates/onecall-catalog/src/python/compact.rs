//! Writes types on one line, as far as they help to write a call: `{'id': int, 'total': float}`
//! tells a model more than a type name. Everything beyond the limits becomes `dict`, `Any` or
//! `...`.

use serde_json::Value;

use crate::literal::{is_short, python_literal, python_string};
use crate::types::{Object, Type, Types, types_of_values};

/// The deepest nesting of types that is shown.
const MAX_DEPTH: usize = 4;
/// The largest number of types that are visited for one signature.
const MAX_NODES: usize = 500;
/// The deepest nesting of references that is followed.
const MAX_REFERENCES: usize = 16;
/// The largest number of alternatives of a union, values of a `Literal`, and keys of an object that
/// are shown.
const MAX_ALTERNATIVES: usize = 8;
const MAX_VALUES: usize = 8;
const MAX_KEYS: usize = 16;

/// Whether a value is an argument or a result. A caller must know which keys of an argument are
/// optional; for results this is left out, because few servers declare it with care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Argument,
    Result,
}

/// Writes the types of one schema document.
pub(crate) struct CompactTypeWriter<'a> {
    types: &'a Types,
    direction: Direction,
    /// The levels of objects whose keys are shown.
    object_levels: usize,
    nodes_left: usize,
    /// The references that are being written, to detect recursion.
    references: Vec<usize>,
}

/// The depth of the current type.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    object_levels: usize,
}

impl<'a> CompactTypeWriter<'a> {
    pub(crate) fn new(types: &'a Types, direction: Direction, object_levels: usize) -> Self {
        Self { types, direction, object_levels, nodes_left: MAX_NODES, references: Vec::new() }
    }

    /// Writes one of the types in Python syntax.
    pub(crate) fn type_of(&mut self, value_type: &'a Type) -> String {
        self.write(value_type, Level { depth: MAX_DEPTH, object_levels: self.object_levels })
    }

    fn write(&mut self, value_type: &'a Type, level: Level) -> String {
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return any() };
        self.nodes_left = nodes_left;
        match value_type {
            Type::Any => any(),
            Type::Null => none(),
            Type::Boolean => "bool".to_owned(),
            Type::Integer => "int".to_owned(),
            Type::Number => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Literals(values) => self.literals(values),
            Type::List(Some(item)) => match level.deeper() {
                Some(inside) => format!("list[{}]", self.write(item, inside)),
                None => "list".to_owned(),
            },
            Type::List(None) => "list".to_owned(),
            Type::Tuple(items) => match level.deeper() {
                Some(inside) if items.len() <= MAX_ALTERNATIVES => {
                    let items: Vec<_> = items.iter().map(|it| self.write(it, inside)).collect();
                    format!("[{}]", items.join(", "))
                }
                _ => "list".to_owned(),
            },
            Type::Map(Some(values)) => match level.deeper() {
                Some(inside) => format!("dict[str, {}]", self.write(values, inside)),
                None => "dict".to_owned(),
            },
            Type::Map(None) => "dict".to_owned(),
            Type::Object(object) => match (level.deeper(), level.object_levels.checked_sub(1)) {
                (Some(inside), Some(object_levels)) => {
                    self.object_with_keys(object, Level { object_levels, ..inside })
                }
                _ => "dict".to_owned(),
            },
            Type::Union { alternatives, is_complete } => {
                self.alternatives(alternatives, *is_complete, level)
            }
            Type::Reference(target) => self.referenced(*target, level),
        }
    }

    fn alternatives(
        &mut self,
        alternatives: &'a [Type],
        is_complete: bool,
        level: Level,
    ) -> String {
        let Some(inside) = level.deeper() else { return any() };
        let mut types: Vec<String> =
            alternatives.iter().take(MAX_ALTERNATIVES).map(|it| self.write(it, inside)).collect();
        if !is_complete || alternatives.len() > MAX_ALTERNATIVES {
            types.push("...".to_owned());
        }
        union(types)
    }

    fn referenced(&mut self, target: usize, level: Level) -> String {
        if self.references.contains(&target) {
            return "dict".to_owned();
        }
        let target_type = self.types.targets.get(target);
        match target_type.filter(|_| self.references.len() < MAX_REFERENCES) {
            // A reference to the whole document from within it.
            Some(found) if found.pointer.is_empty() => "dict".to_owned(),
            Some(found) => {
                self.references.push(target);
                let written = self.write(&found.value_type, level);
                self.references.pop();
                written
            }
            None => any(),
        }
    }

    fn object_with_keys(&mut self, object: &'a Object, level: Level) -> String {
        let mut entries = Vec::new();
        for field in object.fields.iter().take(MAX_KEYS).filter(|it| is_short(&it.name)) {
            let mut written = self.write(&field.value_type, level);
            if self.direction == Direction::Argument && !field.required {
                written = format!("NotRequired[{written}]");
            }
            entries.push(format!("{}: {written}", python_string(&field.name)));
        }
        if entries.len() < object.fields.len() || !object.is_complete {
            entries.push("...".to_owned());
        }
        format!("{{{}}}", entries.join(", "))
    }

    /// `Literal[…]` if it is short, otherwise the common types of the values.
    fn literals(&mut self, values: &[Value]) -> String {
        if values.len() <= MAX_VALUES
            && values.iter().all(|it| !it.is_f64())
            && let Some(texts) = values.iter().map(python_literal).collect::<Option<Vec<_>>>()
        {
            return format!("Literal[{}]", texts.join(", "));
        }
        match types_of_values(values) {
            Type::Union { alternatives, .. } => union(alternatives.iter().map(plain).collect()),
            _ => any(),
        }
    }
}

/// The name of a type without type arguments.
fn plain(value_type: &Type) -> String {
    let name = match value_type {
        Type::Null => "None",
        Type::Boolean => "bool",
        Type::Integer => "int",
        Type::Number => "float",
        Type::Text => "str",
        Type::List(_) => "list",
        Type::Map(_) => "dict",
        _ => "Any",
    };
    name.to_owned()
}

impl Level {
    fn deeper(self) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(1)?, ..self })
    }
}

/// The union `first | second` without duplicates, with `None` last.
pub(crate) fn union(mut types: Vec<String>) -> String {
    let nullable = types.iter().any(|name| name == "None" || name.ends_with(" | None"));
    let mut distinct: Vec<String> = Vec::new();
    for name in types.drain(..) {
        let name = name.strip_suffix(" | None").unwrap_or(&name);
        if name != "None" && !distinct.iter().any(|other| other == name) {
            distinct.push(name.to_owned());
        }
    }
    if distinct.iter().any(|name| name == "Any") {
        return any();
    }
    if nullable {
        distinct.push(none());
    }
    if distinct.is_empty() { any() } else { distinct.join(" | ") }
}

fn any() -> String {
    "Any".to_owned()
}

fn none() -> String {
    "None".to_owned()
}
