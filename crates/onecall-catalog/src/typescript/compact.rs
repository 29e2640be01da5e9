//! Writes types on one line, as far as they help to write a call. Everything beyond the limits
//! becomes `unknown` or `object`.

use serde_json::Value;

use crate::literal::{is_short, json_string};
use crate::types::{Object, Type, Types, types_of_values};

/// The deepest nesting of types, and the largest number of types that are visited for one
/// signature.
const MAX_DEPTH: usize = 4;
const MAX_NODES: usize = 500;
/// The largest number of keys of an object, and of alternatives of a union or values of an
/// enumeration, that are shown.
const MAX_KEYS: usize = 100;
const MAX_ALTERNATIVES: usize = 8;
/// The deepest nesting of references that is followed.
const MAX_REFERENCES: usize = 16;

/// Writes the types of one schema document.
pub(crate) struct CompactTypeWriter<'a> {
    types: &'a Types,
    nodes_left: usize,
    /// The references that are being written, to detect recursion.
    references: Vec<usize>,
}

impl<'a> CompactTypeWriter<'a> {
    pub(crate) fn new(types: &'a Types) -> Self {
        Self { types, nodes_left: MAX_NODES, references: Vec::new() }
    }

    /// Writes one of the types in TypeScript syntax.
    pub(crate) fn type_of(&mut self, value_type: &'a Type) -> String {
        self.write(value_type, MAX_DEPTH)
    }

    fn write(&mut self, value_type: &'a Type, depth: usize) -> String {
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return unknown() };
        self.nodes_left = nodes_left;
        let inside = depth.checked_sub(1);
        match (value_type, inside) {
            (Type::Any, _) => unknown(),
            (Type::Null, _) => "null".to_owned(),
            (Type::Boolean, _) => "boolean".to_owned(),
            (Type::Integer | Type::Number, _) => "number".to_owned(),
            (Type::Text, _) => "string".to_owned(),
            (Type::Literals(values), _) => literals(values),
            (Type::List(Some(item)), Some(inside)) => list_of(&self.write(item, inside)),
            (Type::List(_), _) => "unknown[]".to_owned(),
            (Type::Tuple(items), Some(inside)) if items.len() <= MAX_ALTERNATIVES => {
                let items: Vec<_> = items.iter().map(|it| self.write(it, inside)).collect();
                format!("[{}]", items.join(", "))
            }
            (Type::Tuple(_), _) => "unknown[]".to_owned(),
            (Type::Map(Some(values)), Some(inside)) => {
                format!("Record<string, {}>", self.write(values, inside))
            }
            (Type::Object(object), Some(inside)) => self.object(object, inside),
            (Type::Map(_) | Type::Object(_), _) => "object".to_owned(),
            (Type::Union { alternatives, is_complete }, Some(inside)) => {
                let shown = alternatives.iter().take(MAX_ALTERNATIVES);
                let mut types: Vec<_> = shown.map(|it| self.write(it, inside)).collect();
                if !is_complete || alternatives.len() > MAX_ALTERNATIVES {
                    types.push(unknown());
                }
                union(types)
            }
            (Type::Union { .. }, None) => unknown(),
            (Type::Reference(target), _) => self.referenced(*target, depth),
        }
    }

    fn referenced(&mut self, target: usize, depth: usize) -> String {
        match self.types.targets.get(target) {
            // A reference to the whole document from within it.
            Some(found) if found.pointer.is_empty() => "object".to_owned(),
            _ if self.references.contains(&target) => "object".to_owned(),
            Some(found) if self.references.len() < MAX_REFERENCES => {
                self.references.push(target);
                let written = self.write(&found.value_type, depth);
                self.references.pop();
                written
            }
            _ => unknown(),
        }
    }

    /// Writes an object type with its keys.
    pub(crate) fn object(&mut self, object: &'a Object, depth: usize) -> String {
        let mut entries = Vec::new();
        for field in object.fields.iter().take(MAX_KEYS) {
            let mark = if field.required { "" } else { "?" };
            entries.push(format!(
                "{}{mark}: {}",
                key(&field.name),
                self.write(&field.value_type, depth)
            ));
        }
        if object.fields.len() > MAX_KEYS || !object.is_complete {
            entries.push("…".to_owned());
        }
        format!("{{ {} }}", entries.join("; "))
    }
}

/// Writes a key of an object type.
pub(crate) fn key(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { json_string(name) }
}

/// Writes an array type; an item type that is a union gets parentheses.
pub(crate) fn list_of(item: &str) -> String {
    if is_union(item) { format!("({item})[]") } else { format!("{item}[]") }
}

/// Whether a type has a `|` outside of brackets and strings.
fn is_union(written: &str) -> bool {
    let (mut depth, mut in_string) = (0_usize, false);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if in_string => _ = characters.next(),
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The union `first | second` without duplicates.
pub(crate) fn union(types: Vec<String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for name in types {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    match distinct.is_empty() || distinct.iter().any(|it| it == "unknown") {
        true => unknown(),
        false => distinct.join(" | "),
    }
}

/// The values as literal types if they are few and short, otherwise their types.
fn literals(values: &[Value]) -> String {
    let are_short = values.iter().all(|it| is_short(it.as_str().unwrap_or_default()));
    if values.len() <= MAX_ALTERNATIVES && are_short {
        return union(values.iter().map(literal).collect());
    }
    union_of_types(values)
}

/// A scalar as a literal type.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => json_string(text),
        other => other.to_string(),
    }
}

/// The union of the types of these scalars.
pub(crate) fn union_of_types(values: &[Value]) -> String {
    let Type::Union { alternatives, .. } = types_of_values(values) else { return unknown() };
    let kind = |value_type: &Type| match value_type {
        Type::Null => "null",
        Type::Boolean => "boolean",
        Type::Integer | Type::Number => "number",
        Type::Text => "string",
        _ => "unknown",
    };
    union(alternatives.iter().map(|it| kind(it).to_owned()).collect())
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '$')
}
