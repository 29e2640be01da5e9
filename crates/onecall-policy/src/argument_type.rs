//! The types of a tool's arguments as Cedar knows them, from the tool's input schema.
//!
//! A server wrote the schema, so reading it is bounded. An argument whose type Cedar does not have is
//! not typed, and no policy can read it; a value that does not have the type that is written here is
//! never shown to a policy ([`crate::argument_value`]), so a wrong schema opens nothing.

use std::collections::BTreeMap;

use onecall_core::Schema;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// The largest schema that is read, in bytes.
const MAX_SCHEMA_BYTES: usize = 512 * 1024;

/// How many parts of a schema are read, and how deep arguments may be nested.
const MAX_PARTS: usize = 2_000;
const MAX_DEPTH: usize = 12;

/// The longest name of an argument, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The type of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentType {
    Text,
    Integer,
    /// Cedar's `decimal`: four digits after the point.
    Number,
    Boolean,
    /// A list; Cedar has no order of its elements.
    Set(Box<Element>),
    Record(Arguments),
}

/// What the elements of a list are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) kind: ArgumentType,
    /// Whether an element may be null; such an element counts as absent.
    pub(crate) nullable: bool,
}

/// The arguments of a tool, or the entries of an object, by their names.
pub(crate) type Arguments = BTreeMap<String, Argument>;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    /// Its type, or why it has none.
    pub(crate) kind: Result<ArgumentType, Untyped>,
    pub(crate) required: bool,
}

/// Why policies cannot read an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Untyped {
    #[error("its definition accepts values of different types")]
    Union,
    #[error("its definition accepts any value")]
    Any,
    #[error("it is an object whose keys are not declared")]
    FreeForm,
    #[error("it is a list whose elements have no single type")]
    List,
    #[error("its definition refers to itself")]
    Recursive,
    #[error("its definition is not part of the tool's schema")]
    Reference,
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("the tool's schema is too large")]
    TooLarge,
}

/// The types of all arguments of a tool; an error if the schema is too large to be read.
pub(crate) fn argument_types(schema: &Schema) -> Result<Arguments, Untyped> {
    if schema.text().len() > MAX_SCHEMA_BYTES {
        return Err(Untyped::TooLarge);
    }
    let root = schema.value();
    let mut reader = SchemaReader { root: &root, parts: 0, references: Vec::new() };
    match reader.read(&root, MAX_DEPTH) {
        Ok(Typed { kind: ArgumentType::Record(arguments), .. }) => Ok(arguments),
        Err(Untyped::TooLarge) => Err(Untyped::TooLarge),
        // Arguments are always an object, whatever the schema says.
        _ => Ok(Arguments::new()),
    }
}

/// A type, and whether null is accepted, too.
struct Typed {
    kind: ArgumentType,
    nullable: bool,
}

struct SchemaReader<'a> {
    root: &'a Value,
    parts: usize,
    /// The references that are being followed.
    references: Vec<&'a str>,
}

impl<'a> SchemaReader<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> Result<Typed, Untyped> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Untyped::TooLarge);
        }
        let Value::Object(schema) = schema else { return Err(Untyped::Any) };
        if depth == 0 {
            return Err(Untyped::TooDeep);
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.follow(reference, depth);
        }
        if let Some(kind) = schema.get("type") {
            return self.read_type(kind, schema, depth);
        }
        if schema.contains_key("properties") {
            return Ok(Typed { kind: self.record(schema, depth)?, nullable: false });
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(key) {
                return self.choices(choices, depth);
            }
        }
        match schema.get("allOf") {
            Some(Value::Array(parts)) => match parts.as_slice() {
                [only] => return self.read(only, depth - 1),
                _ => return Err(Untyped::Union),
            },
            Some(_) => return Err(Untyped::Any),
            None => {}
        }
        constant_type(schema)
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Result<Typed, Untyped> {
        if self.references.contains(&reference) {
            return Err(Untyped::Recursive);
        }
        let pointer = reference.strip_prefix('#').ok_or(Untyped::Reference)?;
        let target = self.root.pointer(pointer).ok_or(Untyped::Reference)?;
        self.references.push(reference);
        let read = self.read(target, depth - 1);
        self.references.pop();
        read
    }

    fn read_type(
        &mut self,
        kind: &Value,
        schema: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Typed, Untyped> {
        let (name, nullable) = match kind {
            Value::String(name) => (name.as_str(), false),
            Value::Array(names) => {
                let mut others = names.iter().filter_map(Value::as_str).filter(|it| *it != "null");
                let nullable = names.iter().any(|it| it == "null");
                match (others.next(), others.next()) {
                    (Some(only), None) => (only, nullable),
                    _ => return Err(Untyped::Union),
                }
            }
            _ => return Err(Untyped::Any),
        };
        let kind = match name {
            "string" => ArgumentType::Text,
            "integer" => ArgumentType::Integer,
            "number" => ArgumentType::Number,
            "boolean" => ArgumentType::Boolean,
            "array" => self.list(schema, depth)?,
            "object" => self.record(schema, depth)?,
            _ => return Err(Untyped::Any),
        };
        Ok(Typed { kind, nullable })
    }

    fn list(
        &mut self,
        schema: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<ArgumentType, Untyped> {
        if schema.contains_key("prefixItems") {
            return Err(Untyped::List);
        }
        let items = schema.get("items").filter(|it| it.is_object()).ok_or(Untyped::List)?;
        match self.read(items, depth - 1) {
            Ok(Typed { kind, nullable }) => {
                Ok(ArgumentType::Set(Box::new(Element { kind, nullable })))
            }
            Err(why @ (Untyped::TooLarge | Untyped::Recursive)) => Err(why),
            Err(_) => Err(Untyped::List),
        }
    }

    fn record(
        &mut self,
        schema: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<ArgumentType, Untyped> {
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Err(Untyped::FreeForm);
        };
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // Each of the names is compared with each property.
        if required.len().saturating_mul(properties.len()) > MAX_PARTS * MAX_PARTS {
            return Err(Untyped::TooLarge);
        }
        let mut arguments = Arguments::new();
        for (name, property) in properties {
            let read = self.read(property, depth - 1);
            if read.as_ref().err() == Some(&Untyped::TooLarge) || name.len() > MAX_NAME_BYTES {
                return Err(Untyped::TooLarge);
            }
            let nullable = read.as_ref().is_ok_and(|typed| typed.nullable);
            // A null counts as absent, so that a policy has to ask first whether there is a value.
            let required = required.contains(&name.as_str()) && !nullable;
            let kind = read.map(|typed| typed.kind);
            arguments.insert(name.clone(), Argument { kind, required });
        }
        Ok(ArgumentType::Record(arguments))
    }

    /// The type that all choices have. Null may be one of them.
    fn choices(&mut self, choices: &'a [Value], depth: usize) -> Result<Typed, Untyped> {
        let mut common: Option<ArgumentType> = None;
        let mut nullable = false;
        for choice in choices {
            if choice.get("type").is_some_and(|kind| kind == "null") {
                nullable = true;
                continue;
            }
            let typed = self.read(choice, depth - 1)?;
            nullable |= typed.nullable;
            if common.as_ref().is_some_and(|known| *known != typed.kind) {
                return Err(Untyped::Union);
            }
            common = Some(typed.kind);
        }
        Ok(Typed { kind: common.ok_or(Untyped::Any)?, nullable })
    }
}

/// The type of values that are listed one by one.
fn constant_type(schema: &Map<String, Value>) -> Result<Typed, Untyped> {
    let values = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => std::slice::from_ref(value),
        (None, Some(Value::Array(values))) => values.as_slice(),
        _ => return Err(Untyped::Any),
    };
    let kind_of = |value: &Value| match value {
        Value::String(_) => Some(ArgumentType::Text),
        Value::Bool(_) => Some(ArgumentType::Boolean),
        Value::Number(number) if number.is_i64() => Some(ArgumentType::Integer),
        _ => None,
    };
    let mut others = values.iter().filter(|value| !value.is_null());
    let kind = others.next().and_then(kind_of).ok_or(Untyped::Union)?;
    match others.all(|value| kind_of(value).as_ref() == Some(&kind)) {
        true => Ok(Typed { kind, nullable: values.iter().any(Value::is_null) }),
        false => Err(Untyped::Union),
    }
}

impl ArgumentType {
    /// The type in Cedar's schema format.
    fn cedar(&self) -> Value {
        match self {
            Self::Text => json!({ "type": "String" }),
            Self::Integer => json!({ "type": "Long" }),
            Self::Number => json!({ "type": "Extension", "name": "decimal" }),
            Self::Boolean => json!({ "type": "Boolean" }),
            Self::Set(element) => json!({ "type": "Set", "element": element.kind.cedar() }),
            Self::Record(entries) => cedar_record(entries),
        }
    }
}

/// Arguments in Cedar's schema format. Those without a type are left out.
pub(crate) fn cedar_record(arguments: &Arguments) -> Value {
    let mut attributes = Map::new();
    for (name, argument) in arguments {
        if let Ok(kind) = &argument.kind {
            let mut attribute = kind.cedar();
            attribute["required"] = argument.required.into();
            attributes.insert(name.clone(), attribute);
        }
    }
    json!({ "type": "Record", "attributes": attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types as `name: type` lines; a question mark means optional.
    fn shown(schema: Value) -> String {
        fn line(kind: &ArgumentType) -> String {
            match kind {
                ArgumentType::Set(element) => {
                    let null = if element.nullable { " or null" } else { "" };
                    format!("Set<{}{null}>", line(&element.kind))
                }
                ArgumentType::Record(entries) => format!("{{{}}}", lines(entries)),
                other => format!("{other:?}"),
            }
        }
        fn lines(arguments: &Arguments) -> String {
            let show = |(name, argument): (&String, &Argument)| {
                let mark = if argument.required { "" } else { "?" };
                let kind = match &argument.kind {
                    Ok(kind) => line(kind),
                    Err(why) => format!("({why})"),
                };
                format!("{name}{mark}: {kind}")
            };
            arguments.iter().map(show).collect::<Vec<_>>().join(", ")
        }
        match argument_types(&Schema::from(schema)) {
            Ok(arguments) => lines(&arguments),
            Err(why) => format!("({why})"),
        }
    }

    fn property(schema: Value) -> String {
        shown(json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] }))
    }

    #[test]
    fn each_kind_of_schema_has_its_type() {
        for (schema, expected) in [
            (json!({ "type": "string" }), "x: Text"),
            (json!({ "type": "integer" }), "x: Integer"),
            (json!({ "type": "number" }), "x: Number"),
            (json!({ "type": "boolean" }), "x: Boolean"),
            (json!({ "enum": ["a", "b"] }), "x: Text"),
            (json!({ "enum": ["a", null] }), "x?: Text"),
            (json!({ "enum": ["a", 1] }), "x: (its definition accepts values of different types)"),
            (json!({ "const": 3 }), "x: Integer"),
            (json!({ "type": ["string", "null"] }), "x?: Text"),
            (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), "x?: Integer"),
            (json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }), "x: Text"),
            (
                json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
                "x: (its definition accepts values of different types)",
            ),
            (
                json!({ "type": ["string", "integer"] }),
                "x: (its definition accepts values of different types)",
            ),
            (json!({ "type": "array", "items": { "type": "string" } }), "x: Set<Text>"),
            (
                json!({ "type": "array", "items": { "type": ["integer", "null"] } }),
                "x: Set<Integer or null>",
            ),
            (json!({ "type": "array" }), "x: (it is a list whose elements have no single type)"),
            (
                json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
                "x: (it is a list whose elements have no single type)",
            ),
            (json!({ "type": "object" }), "x: (it is an object whose keys are not declared)"),
            (
                json!({ "properties": { "a": { "type": "string" }, "b": {} }, "required": ["a"] }),
                "x: {a: Text, b?: (its definition accepts any value)}",
            ),
            (json!({ "allOf": [{ "type": "string" }] }), "x: Text"),
            (json!(true), "x: (its definition accepts any value)"),
            (json!(7), "x: (its definition accepts any value)"),
            (
                json!({ "$ref": "#/nowhere" }),
                "x: (its definition is not part of the tool's schema)",
            ),
            (
                json!({ "$ref": "https://example.com/schema" }),
                "x: (its definition is not part of the tool's schema)",
            ),
            (json!({ "type": "null" }), "x: (its definition accepts any value)"),
        ] {
            assert_eq!(property(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn references_are_followed_inside_of_the_schema() {
        let schema = json!({
            "type": "object",
            "$defs": {
                "money": { "type": "object", "properties": { "cents": { "type": "integer" } } },
                "tree": { "type": "object", "properties": {
                    "name": { "type": "string" },
                    "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
                } },
            },
            "properties": { "price": { "$ref": "#/$defs/money" }, "tree": { "$ref": "#/$defs/tree" } },
        });
        insta::assert_snapshot!(shown(schema), @"price?: {cents?: Integer}, tree?: {children?: (its definition refers to itself), name?: Text}");
    }

    #[test]
    fn hostile_schemas_cost_little_and_type_nothing() {
        let wide = json!({ "properties": { "x": { "anyOf": vec![json!({ "type": "string" }); 100_000] } } });
        assert_eq!(shown(wide), "(the tool's schema is too large)");
        let deep = (0..1_000).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "array", "items": inner }),
        );
        assert_eq!(property(deep), "x: (it is a list whose elements have no single type)");
        // Each definition mentions the next one six times, which multiplies the work at every level.
        let bomb: Map<String, Value> = (0..60)
            .map(|level| {
                let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
                let properties: Map<String, Value> = ["a", "b", "c", "d", "e", "f"]
                    .map(|it| (it.to_owned(), next.clone()))
                    .into_iter()
                    .collect();
                (format!("d{level}"), json!({ "properties": properties }))
            })
            .collect();
        let schema = json!({ "$defs": bomb, "properties": { "x": { "$ref": "#/$defs/d0" } } });
        assert_eq!(shown(schema), "(the tool's schema is too large)");
        let names: Map<String, Value> = (0..5_000).map(|it| (it.to_string(), json!({}))).collect();
        assert_eq!(shown(json!({ "properties": names })), "(the tool's schema is too large)");
        let long = json!({ "properties": { "x".repeat(300): { "type": "string" } } });
        assert_eq!(shown(long), "(the tool's schema is too large)");
        let large = json!({ "description": "x".repeat(600_000), "properties": {} });
        assert_eq!(shown(large), "(the tool's schema is too large)");
        for odd in
            [json!(null), json!([]), json!({ "type": "string" }), json!({ "properties": [] })]
        {
            assert_eq!(shown(odd), "");
        }
    }
}
