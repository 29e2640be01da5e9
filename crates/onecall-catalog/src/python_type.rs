//! JSON Schema as Python types, as far as they help to write a call. A schema comes
//! from a server, so every walk over one is bounded; what lies beyond the bounds is
//! `dict`, `Any` or `...`, never an error.

use serde_json::{Map, Value};

use crate::literal::{is_short, python_literal, python_string};

/// Levels of types within types.
const MAX_DEPTH: usize = 4;
/// Schemas looked at for one signature.
const MAX_NODES: usize = 500;
/// References followed within one another.
const MAX_REFERENCES: usize = 16;
/// Alternatives of a union, values of a `Literal`, keys of an object that are shown.
const MAX_ALTERNATIVES: usize = 8;
const MAX_VALUES: usize = 8;
const MAX_KEYS: usize = 16;
/// Entries of `required` that are read.
const MAX_REQUIRED: usize = 1_000;

/// Which way a value goes. A caller must know which keys it may leave out; of a
/// result that would only be noise, for few servers declare it with care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Argument,
    Result,
}

/// Writes the types of one schema document.
pub(crate) struct TypeWriter<'a> {
    /// What local references point into.
    document: &'a Value,
    direction: Direction,
    /// Levels of objects whose keys are shown.
    shapes: usize,
    nodes_left: usize,
    /// The references that are being written, to notice recursion.
    references: Vec<&'a str>,
}

/// How deep the walk is.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    shapes: usize,
}

impl<'a> TypeWriter<'a> {
    pub(crate) fn new(document: &'a Value, direction: Direction, shapes: usize) -> Self {
        Self { document, direction, shapes, nodes_left: MAX_NODES, references: Vec::new() }
    }

    /// The type of values that match `schema`, a part of the document.
    pub(crate) fn type_of(&mut self, schema: &'a Value) -> String {
        self.write(schema, Level { depth: MAX_DEPTH, shapes: self.shapes })
    }

    fn write(&mut self, schema: &'a Value, level: Level) -> String {
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return any() };
        self.nodes_left = nodes_left;
        let Some(keywords) = schema.as_object() else { return any() };
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            return self.referenced(reference, level);
        }
        let written = if let Some(value) = keywords.get("const") {
            literals(std::slice::from_ref(value))
        } else if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
            literals(values)
        } else {
            self.by_type(keywords, level)
        };
        match keywords.get("nullable") {
            Some(Value::Bool(true)) => union(vec![written, none()]),
            _ => written,
        }
    }

    fn referenced(&mut self, reference: &'a str, level: Level) -> String {
        if reference == "#" || self.references.contains(&reference) {
            return "dict".to_owned();
        }
        // A reference to anywhere else would have to be fetched, and never is.
        let target = reference.strip_prefix('#').and_then(|path| self.document.pointer(path));
        let Some(target) = target.filter(|_| self.references.len() < MAX_REFERENCES) else {
            return any();
        };
        self.references.push(reference);
        let written = self.write(target, level);
        self.references.pop();
        written
    }

    fn by_type(&mut self, keywords: &'a Map<String, Value>, level: Level) -> String {
        match keywords.get("type") {
            Some(Value::String(name)) => self.named(name, keywords, level),
            Some(Value::Array(names)) => {
                let shown = names.iter().take(MAX_ALTERNATIVES).filter_map(Value::as_str);
                union(shown.map(|name| self.named(name, keywords, level)).collect())
            }
            _ if keywords.contains_key("properties") => self.named("object", keywords, level),
            _ if keywords.contains_key("items") => self.named("array", keywords, level),
            _ => self.combined(keywords, level),
        }
    }

    fn named(&mut self, name: &str, keywords: &'a Map<String, Value>, level: Level) -> String {
        match name {
            "string" => "str".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "boolean" => "bool".to_owned(),
            "null" => none(),
            "array" => self.array(keywords, level),
            "object" => self.object(keywords, level),
            _ => any(),
        }
    }

    fn combined(&mut self, keywords: &'a Map<String, Value>, level: Level) -> String {
        let alternatives =
            ["anyOf", "oneOf"].iter().find_map(|name| keywords.get(*name)?.as_array());
        if let (Some(alternatives), Some(inside)) = (alternatives, level.inside()) {
            let shown = alternatives.iter().take(MAX_ALTERNATIVES);
            let mut types: Vec<String> = shown.map(|schema| self.write(schema, inside)).collect();
            if alternatives.len() > MAX_ALTERNATIVES {
                types.push("...".to_owned());
            }
            return union(types);
        }
        match (keywords.get("allOf").and_then(Value::as_array).map(Vec::as_slice), level.inside()) {
            // Pydantic wraps a reference like this to put a description beside it.
            (Some([only]), Some(inside)) => self.write(only, inside),
            // Merging schemas is a validator's work; nearly always they are objects.
            (Some([first, ..]), Some(inside)) => match self.write(first, inside).as_str() {
                object if object.starts_with(['{', 'd']) => "dict".to_owned(),
                _ => any(),
            },
            _ => any(),
        }
    }

    fn array(&mut self, keywords: &'a Map<String, Value>, level: Level) -> String {
        match (keywords.get("items"), level.inside()) {
            (Some(items @ Value::Object(_)), Some(inside)) => {
                format!("list[{}]", self.write(items, inside))
            }
            _ => "list".to_owned(),
        }
    }

    fn object(&mut self, keywords: &'a Map<String, Value>, level: Level) -> String {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|properties| !properties.is_empty());
        match (properties, keywords.get("additionalProperties"), level.inside()) {
            (Some(properties), _, Some(inside)) => {
                let Some(shapes) = level.shapes.checked_sub(1) else { return "dict".to_owned() };
                self.shape(keywords, properties, Level { shapes, ..inside })
            }
            (None, Some(values @ Value::Object(_)), Some(inside)) => {
                format!("dict[str, {}]", self.write(values, inside))
            }
            _ => "dict".to_owned(),
        }
    }

    fn shape(
        &mut self,
        keywords: &'a Map<String, Value>,
        properties: &'a Map<String, Value>,
        level: Level,
    ) -> String {
        let mut entries = Vec::new();
        for (key, schema) in properties.iter().take(MAX_KEYS).filter(|(key, _)| is_short(key)) {
            let mut written = self.write(schema, level);
            if self.direction == Direction::Argument && !is_required(keywords, key) {
                written = format!("NotRequired[{written}]");
            }
            entries.push(format!("{}: {written}", python_string(key)));
        }
        if entries.len() < properties.len() {
            entries.push("...".to_owned());
        }
        format!("{{{}}}", entries.join(", "))
    }
}

impl Level {
    fn inside(self) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(1)?, ..self })
    }
}

/// Whether the object schema with these keywords demands `key`.
pub(crate) fn is_required(keywords: &Map<String, Value>, key: &str) -> bool {
    let required = keywords.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().take(MAX_REQUIRED).any(|name| name == key))
}

/// `first | second`, each once and `None` last.
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

/// `Literal[…]` if that is short, else the type all values have.
fn literals(values: &[Value]) -> String {
    let named = |value: &Value| {
        matches!(value, Value::String(_) | Value::Bool(_) | Value::Null)
            || value.is_i64()
            || value.is_u64()
    };
    if let [Value::Null] = values {
        return none();
    }
    if (1..=MAX_VALUES).contains(&values.len())
        && values.iter().all(named)
        && let Some(texts) = values.iter().map(python_literal).collect::<Option<Vec<_>>>()
    {
        return format!("Literal[{}]", texts.join(", "));
    }
    let types = values.iter().take(MAX_NODES).map(|value| match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    });
    union(types.map(str::to_owned).collect())
}

fn any() -> String {
    "Any".to_owned()
}

fn none() -> String {
    "None".to_owned()
}
