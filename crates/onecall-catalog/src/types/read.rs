//! Reads the types of a JSON Schema.

use onecall_core::Schema;
use serde_json::{Map, Value};

use crate::untyped::is_untyped;

use super::merge::merge_types;
use super::{Field, Note, Object, ReferenceTarget, Type, Types, is_required};

/// The deepest nesting of types; the target of a reference starts at the top again.
const MAX_DEPTH: usize = 12;
/// The largest number of schemas that are read in one document.
const MAX_NODES: usize = 5_000;
/// The largest number of references that are followed.
const MAX_TARGETS: usize = 200;
/// The largest number of keys of an object, alternatives of a union, and values of an enumeration.
const MAX_KEYS: usize = 500;
const MAX_ALTERNATIVES: usize = 64;
const MAX_VALUES: usize = 100;
/// The largest number of values whose types are determined if there are too many to list.
const MAX_TYPED_VALUES: usize = 500;

impl Types {
    /// The types of a whole schema.
    pub(crate) fn of(schema: &Schema) -> Self {
        let document = schema.value();
        Self::read(&document, &document)
    }

    /// The types of `part`, which is part of `document`.
    pub(crate) fn read(document: &Value, part: &Value) -> Self {
        let mut reader = Reader { document, pointers: Vec::new(), nodes_left: MAX_NODES };
        let root = reader.read(part, MAX_DEPTH);
        let mut targets = Vec::new();
        // Reading a target may add further ones.
        while let Some(pointer) = reader.pointers.get(targets.len()).copied() {
            let schema = document.pointer(pointer).unwrap_or(&Value::Null);
            let (value_type, note) = (reader.read(schema, MAX_DEPTH), Note::of(schema));
            targets.push(ReferenceTarget { pointer: pointer.to_owned(), value_type, note });
        }
        Self { root, targets }
    }
}

struct Reader<'a> {
    /// The document that local references point into.
    document: &'a Value,
    /// The pointers of the references found so far.
    pointers: Vec<&'a str>,
    nodes_left: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> Type {
        let (Some(nodes_left), Some(keywords)) =
            (self.nodes_left.checked_sub(1), schema.as_object())
        else {
            return Type::Any;
        };
        self.nodes_left = nodes_left;
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            return self.reference(reference);
        }
        let value_type = if let Some(value) = keywords.get("const") {
            literals(std::slice::from_ref(value))
        } else if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
            literals(values)
        } else {
            self.by_type(keywords, depth)
        };
        match keywords.get("nullable") {
            Some(Value::Bool(true)) => {
                Type::Union { alternatives: vec![value_type, Type::Null], is_complete: true }
            }
            _ => value_type,
        }
    }

    fn reference(&mut self, reference: &'a str) -> Type {
        // A reference to another document would have to be fetched, which never happens.
        let pointer = reference.strip_prefix('#').filter(|it| self.document.pointer(it).is_some());
        let Some(pointer) = pointer else { return Type::Any };
        if let Some(known) = self.pointers.iter().position(|known| *known == pointer) {
            return Type::Reference(known);
        }
        if self.pointers.len() == MAX_TARGETS {
            return Type::Any;
        }
        self.pointers.push(pointer);
        Type::Reference(self.pointers.len() - 1)
    }

    fn by_type(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Type {
        let parts = ["anyOf", "oneOf", "allOf"];
        match keywords.get("type") {
            // Only the combined schemas contain the keys.
            Some(Value::String(name))
                if name == "object"
                    && !has_properties(keywords)
                    && parts.iter().any(|it| keywords.contains_key(*it)) =>
            {
                match self.combined(keywords, depth) {
                    Type::Any => self.named("object", keywords, depth),
                    combined => combined,
                }
            }
            Some(Value::String(name)) => {
                let own = self.named(name, keywords, depth);
                match keywords.get("allOf").and_then(Value::as_array) {
                    Some(more) if name == "object" => self.all_of(Some(own), more, depth),
                    _ => own,
                }
            }
            Some(Value::Array(names)) => {
                let mut kinds: Vec<&str> = Vec::new();
                for name in names.iter().filter_map(Value::as_str) {
                    if kinds.len() < MAX_ALTERNATIVES && !kinds.contains(&name) {
                        kinds.push(name);
                    }
                }
                let alternatives =
                    kinds.into_iter().map(|it| self.named(it, keywords, depth)).collect();
                Type::Union { alternatives, is_complete: true }
            }
            _ if keywords.contains_key("properties") => {
                let own = self.named("object", keywords, depth);
                match keywords.get("allOf").and_then(Value::as_array) {
                    Some(more) => self.all_of(Some(own), more, depth),
                    None => own,
                }
            }
            _ if keywords.contains_key("items") || keywords.contains_key("prefixItems") => {
                self.named("array", keywords, depth)
            }
            _ => self.combined(keywords, depth),
        }
    }

    fn named(&mut self, name: &str, keywords: &'a Map<String, Value>, depth: usize) -> Type {
        match name {
            "string" => Type::Text,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "null" => Type::Null,
            "array" => self.array(keywords, depth),
            "object" => self.object(keywords, depth),
            _ => Type::Any,
        }
    }

    fn combined(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Type {
        let Some(depth) = depth.checked_sub(1) else { return Type::Any };
        let alternatives =
            ["anyOf", "oneOf"].iter().find_map(|name| keywords.get(*name)?.as_array());
        if let Some(alternatives) = alternatives {
            let shown = alternatives.iter().take(MAX_ALTERNATIVES);
            let types = shown.map(|it| self.read(it, depth)).collect();
            return Type::Union {
                alternatives: types,
                is_complete: alternatives.len() <= MAX_ALTERNATIVES,
            };
        }
        match keywords.get("allOf").and_then(Value::as_array) {
            Some(parts) => self.all_of(None, parts, depth),
            None => Type::Any,
        }
    }

    /// The type of a value that must match `own` and each of `parts`.
    fn all_of(&mut self, own: Option<Type>, parts: &'a [Value], depth: usize) -> Type {
        let Some(depth) = depth.checked_sub(1) else { return own.unwrap_or(Type::Any) };
        let mut types: Vec<Type> = own.into_iter().collect();
        for part in parts.iter().take(MAX_ALTERNATIVES) {
            // Pydantic wraps a single reference like this to add a description to it.
            let is_alone = types.is_empty() && parts.len() == 1;
            types.push(if is_alone { self.read(part, depth) } else { self.inline(part, depth) });
        }
        merge_types(types, parts.len() <= MAX_ALTERNATIVES)
    }

    /// Reads the target in place of a reference, because its fields are needed.
    fn inline(&mut self, schema: &'a Value, depth: usize) -> Type {
        let pointer =
            schema.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        match (pointer.and_then(|it| self.document.pointer(it)), depth.checked_sub(1)) {
            (Some(target), Some(depth)) => self.inline(target, depth),
            _ => self.read(schema, depth),
        }
    }

    fn array(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Type {
        let Some(depth) = depth.checked_sub(1) else { return Type::List(None) };
        let items = keywords.get("items");
        let tuple = keywords.get("prefixItems").or(items).and_then(Value::as_array);
        if let Some(tuple) = tuple.filter(|it| (1..=MAX_ALTERNATIVES).contains(&it.len())) {
            // Few servers declare what may follow the items of a tuple, so it counts as closed
            // unless they do.
            let rest = keywords.get("prefixItems").and(items).filter(|it| it.is_object());
            return match rest {
                Some(_) => Type::List(None),
                None => Type::Tuple(tuple.iter().map(|it| self.read(it, depth)).collect()),
            };
        }
        match items {
            Some(items @ Value::Object(_)) => Type::List(Some(Box::new(self.read(items, depth)))),
            _ => Type::List(None),
        }
    }

    fn object(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Type {
        let properties = if has_properties(keywords) { keywords.get("properties") } else { None };
        let properties = properties.and_then(Value::as_object);
        let extra = keywords.get("additionalProperties");
        let extra =
            extra.or_else(|| keywords.get("patternProperties")?.as_object()?.values().next());
        let Some(depth) = depth.checked_sub(1) else { return Type::Map(None) };
        let Some(properties) = properties else {
            return match extra {
                Some(values @ Value::Object(_)) => {
                    Type::Map(Some(Box::new(self.read(values, depth))))
                }
                _ => Type::Map(None),
            };
        };
        let mut fields = Vec::new();
        for (name, schema) in properties.iter().take(MAX_KEYS) {
            let value_type = match is_untyped(keywords, name, schema) {
                true => Type::Any,
                false => self.read(schema, depth),
            };
            let required = is_required(keywords, name);
            fields.push(Field { name: name.clone(), required, value_type, note: Note::of(schema) });
        }
        let allows_other_keys = matches!(extra, Some(Value::Bool(true) | Value::Object(_)));
        Type::Object(Object {
            fields,
            is_complete: properties.len() <= MAX_KEYS,
            allows_other_keys,
        })
    }
}

fn has_properties(keywords: &Map<String, Value>) -> bool {
    keywords.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty())
}

/// The values as a type, if there are few enough, otherwise their types.
fn literals(values: &[Value]) -> Type {
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    match values {
        [Value::Null] => Type::Null,
        [] => Type::Any,
        _ if values.len() <= MAX_VALUES && values.iter().all(is_scalar) => {
            Type::Literals(values.to_vec())
        }
        _ => types_of_values(values),
    }
}

/// The union of the types of these values.
pub(crate) fn types_of_values(values: &[Value]) -> Type {
    let mut alternatives: Vec<Type> = Vec::new();
    for value in values.iter().take(MAX_TYPED_VALUES) {
        let kind = match value {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Boolean,
            Value::Number(number) if number.is_f64() => Type::Number,
            Value::Number(_) => Type::Integer,
            Value::String(_) => Type::Text,
            Value::Array(_) => Type::List(None),
            Value::Object(_) => Type::Map(None),
        };
        if !alternatives.contains(&kind) {
            alternatives.push(kind);
        }
    }
    Type::Union { alternatives, is_complete: true }
}
