//! Writes types on one line, as far as they help to write a call: `{'id': int, 'total': float}`
//! tells a model more than a type name. Everything beyond the limits becomes `dict`, `Any` or
//! `...`.

use serde_json::Value;

use crate::literal::{is_short, python_literal, python_string};
use crate::types::{Object, Type, Types, kinds_of};

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
pub(crate) struct Compact<'a> {
    types: &'a Types,
    direction: Direction,
    /// The levels of objects whose keys are shown.
    shapes: usize,
    nodes_left: usize,
    /// The references that are being written, to detect recursion.
    references: Vec<usize>,
}

/// The depth of the current type.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    shapes: usize,
}

impl<'a> Compact<'a> {
    pub(crate) fn new(types: &'a Types, direction: Direction, shapes: usize) -> Self {
        Self { types, direction, shapes, nodes_left: MAX_NODES, references: Vec::new() }
    }

    /// Writes one of the types in Python syntax.
    pub(crate) fn type_of(&mut self, of: &'a Type) -> String {
        self.write(of, Level { depth: MAX_DEPTH, shapes: self.shapes })
    }

    fn write(&mut self, of: &'a Type, level: Level) -> String {
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return any() };
        self.nodes_left = nodes_left;
        match of {
            Type::Any => any(),
            Type::Null => none(),
            Type::Boolean => "bool".to_owned(),
            Type::Integer => "int".to_owned(),
            Type::Number => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Literals(values) => self.literals(values),
            Type::List(Some(item)) => match level.inside() {
                Some(inside) => format!("list[{}]", self.write(item, inside)),
                None => "list".to_owned(),
            },
            Type::List(None) => "list".to_owned(),
            Type::Tuple(items) => match level.inside() {
                Some(inside) if items.len() <= MAX_ALTERNATIVES => {
                    let items: Vec<_> = items.iter().map(|it| self.write(it, inside)).collect();
                    format!("[{}]", items.join(", "))
                }
                _ => "list".to_owned(),
            },
            Type::Map(Some(values)) => match level.inside() {
                Some(inside) => format!("dict[str, {}]", self.write(values, inside)),
                None => "dict".to_owned(),
            },
            Type::Map(None) => "dict".to_owned(),
            Type::Object(object) => match (level.inside(), level.shapes.checked_sub(1)) {
                (Some(inside), Some(shapes)) => self.shape(object, Level { shapes, ..inside }),
                _ => "dict".to_owned(),
            },
            Type::Union { of, whole } => self.alternatives(of, *whole, level),
            Type::Reference(target) => self.referenced(*target, level),
        }
    }

    fn alternatives(&mut self, of: &'a [Type], whole: bool, level: Level) -> String {
        let Some(inside) = level.inside() else { return any() };
        let mut types: Vec<String> =
            of.iter().take(MAX_ALTERNATIVES).map(|it| self.write(it, inside)).collect();
        if !whole || of.len() > MAX_ALTERNATIVES {
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
                let written = self.write(&found.of, level);
                self.references.pop();
                written
            }
            None => any(),
        }
    }

    fn shape(&mut self, object: &'a Object, level: Level) -> String {
        let mut entries = Vec::new();
        for field in object.fields.iter().take(MAX_KEYS).filter(|it| is_short(&it.name)) {
            let mut written = self.write(&field.of, level);
            if self.direction == Direction::Argument && !field.required {
                written = format!("NotRequired[{written}]");
            }
            entries.push(format!("{}: {written}", python_string(&field.name)));
        }
        if entries.len() < object.fields.len() || !object.whole {
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
        match kinds_of(values) {
            Type::Union { of, .. } => union(of.iter().map(plain).collect()),
            _ => any(),
        }
    }
}

/// The name of a type without type arguments.
fn plain(of: &Type) -> String {
    let name = match of {
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
    fn inside(self) -> Option<Self> {
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
