//! How a call to a tool is written, in one line that a model can copy.

use onecall_core::ToolSpec;
use serde_json::{Map, Value};

use crate::literal::{json_string, python_literal};
use crate::python_type::{Direction, TypeWriter, is_required, union};

/// Characters of a signature.
const MAX_CHARS: usize = 2_000;
/// Room kept for the name when parameters have to be left out.
const NAME_CHARS: usize = 500;
/// Parameters shown; the schema itself has the rest.
const MAX_PARAMETERS: usize = 100;
/// Levels of objects whose keys are shown, where there is room.
const SHAPES: usize = 2;

/// Names that Python does not take as keyword arguments.
const KEYWORDS: [&str; 36] = [
    "False",
    "None",
    "True",
    "__debug__",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
];

/// The call to a tool as one line of Python, for example
/// `await mcp__sales__orders(region: str, limit: int = 10) -> list[dict]`.
///
/// Parameters stand in the order of the schema, because positional arguments are
/// taken in that order; after a `*` only keywords say what is meant. If a parameter's
/// name is no Python identifier, the call is shown with one dict instead. A signature
/// that grows too long loses first the keys of objects, then its last parameters.
#[must_use]
pub fn python_signature(spec: &ToolSpec) -> String {
    for shapes in [SHAPES, 0] {
        let call = Call::of(spec, shapes);
        let signature = call.text(spec.callable.as_str(), call.parameters.len());
        if signature.chars().count() <= MAX_CHARS {
            return signature;
        }
    }
    cut_signature(spec)
}

/// As many parameters as fit.
fn cut_signature(spec: &ToolSpec) -> String {
    let mut call = Call::of(spec, 0);
    call.complete = false;
    if call.returns.len() > NAME_CHARS {
        call.returns = "Any".to_owned();
    }
    // Callable names are ASCII.
    let name = match spec.callable.as_str().get(..NAME_CHARS) {
        Some(start) => format!("{start}..."),
        None => spec.callable.to_string(),
    };
    let mut room = MAX_CHARS - 2 * NAME_CHARS - 50;
    let fitting = call.parameters.iter().take_while(|parameter| {
        let length = parameter.text.chars().count() + "*, , ".len();
        room.checked_sub(length).map(|left| room = left).is_some()
    });
    let shown = fitting.count();
    call.text(&name, shown)
}

/// A call taken apart.
struct Call {
    style: Style,
    parameters: Vec<Parameter>,
    /// Whether `parameters` are all there are.
    complete: bool,
    returns: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `(region: str, limit: int = 10)`
    Keywords,
    /// `({"from": str})`
    Dict,
}

struct Parameter {
    text: String,
    required: bool,
}

impl Call {
    fn of(spec: &ToolSpec, shapes: usize) -> Self {
        let schema = &spec.input_schema;
        let mut types = TypeWriter::new(schema, Direction::Argument, shapes);
        let nothing = Map::new();
        let keywords = schema.as_object().unwrap_or(&nothing);
        let properties = keywords.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let style = if properties.keys().all(|name| is_keyword_argument(name)) {
            Style::Keywords
        } else {
            Style::Dict
        };
        let mut parameters: Vec<Parameter> = properties
            .iter()
            .take(MAX_PARAMETERS)
            .map(|(name, schema)| {
                let required = is_required(keywords, name);
                let text = match style {
                    Style::Keywords => keyword(name, schema, types.type_of(schema), required),
                    Style::Dict => entry(name, types.type_of(schema), required),
                };
                Parameter { text, required }
            })
            .collect();
        if properties.is_empty() && takes_anything(keywords) {
            parameters.push(Parameter { text: "**arguments".to_owned(), required: true });
        }
        let complete = properties.len() <= MAX_PARAMETERS;
        Self { style, parameters, complete, returns: return_type(spec, shapes) }
    }

    fn text(&self, name: &str, shown: usize) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let mut optional_seen = false;
        let mut keywords_only = self.style == Style::Dict;
        for parameter in self.parameters.iter().take(shown) {
            if parameter.required && optional_seen && !keywords_only {
                parts.push("*");
                keywords_only = true;
            }
            optional_seen |= !parameter.required;
            parts.push(&parameter.text);
        }
        if !self.complete || shown < self.parameters.len() {
            parts.push("...");
        }
        let parts = parts.join(", ");
        match self.style {
            Style::Keywords => format!("await {name}({parts}) -> {}", self.returns),
            Style::Dict => format!("await {name}({{{parts}}}) -> {}", self.returns),
        }
    }
}

fn keyword(name: &str, schema: &Value, written: String, required: bool) -> String {
    if required {
        return format!("{name}: {written}");
    }
    match schema.get("default") {
        None | Some(Value::Null) => {
            format!("{name}: {} = None", union(vec![written, "None".to_owned()]))
        }
        Some(default) => {
            let default = python_literal(default).unwrap_or_else(|| "...".to_owned());
            format!("{name}: {written} = {default}")
        }
    }
}

fn entry(name: &str, written: String, required: bool) -> String {
    let name = json_string(name);
    if required { format!("{name}: {written}") } else { format!("{name}: NotRequired[{written}]") }
}

/// ASCII only: Python also takes other letters, but folds some of them into others.
fn is_keyword_argument(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.bytes().all(word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !KEYWORDS.contains(&name)
}

/// Whether a schema without properties of its own still wants arguments.
fn takes_anything(keywords: &Map<String, Value>) -> bool {
    let extra = keywords.get("additionalProperties");
    matches!(extra, Some(Value::Bool(true) | Value::Object(_)))
        || ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|name| keywords.contains_key(*name))
}

/// A lone `result` is the wrapping that servers put around values that are no objects;
/// a program gets what is inside.
fn return_type(spec: &ToolSpec, shapes: usize) -> String {
    let Some(schema) = &spec.output_schema else { return "Any".to_owned() };
    let properties = schema.get("properties").and_then(Value::as_object);
    let wrapped = properties.filter(|all| all.len() == 1).and_then(|all| all.get("result"));
    TypeWriter::new(schema, Direction::Result, shapes).type_of(wrapped.unwrap_or(schema))
}
