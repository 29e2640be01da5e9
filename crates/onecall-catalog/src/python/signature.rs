//! Writes the call of a tool as one line of Python that a model can copy.

use onecall_core::ToolSpec;
use serde_json::Value;

use super::compact::{CompactTypeWriter, Direction, union};
use super::keywords::is_keyword_argument;
use crate::literal::{json_string, python_literal};
use crate::observed::{ObservedOutput, ResultType, UNKNOWN_NOTE, observation_remark};
use crate::types::{Field, Types, takes_anything};

/// The longest signature in characters.
const MAX_CHARS: usize = 2_000;
/// The length reserved for the name if parameters have to be left out.
const NAME_CHARS: usize = 500;
/// The largest number of parameters that are shown; the schema contains the rest.
const MAX_PARAMETERS: usize = 100;
/// The levels of objects whose keys are shown, if there is room.
const OBJECT_LEVELS: usize = 2;

/// The call to a tool as one line of Python, for example
/// `await mcp__sales__orders(region: str, limit: int = 10) -> list[dict]`.
///
/// The parameters are in the order of the schema, which is the order of positional arguments; those
/// after a `*` can only be passed by keyword. If the name of a parameter is not a Python
/// identifier, the call is shown with one dict instead. A signature that is too long loses first
/// the keys of objects, then its last parameters.
#[must_use]
pub fn python_signature(spec: &ToolSpec) -> String {
    text(spec, &ResultType::of(spec, None), "")
}

/// The call of a tool as one line of Python, like [`python_signature`], with the observed result
/// type if the server declares none, and a remark about a type that it does not declare.
#[must_use]
pub fn python_signature_with(spec: &ToolSpec, observed: Option<&ObservedOutput>) -> String {
    let result = ResultType::of(spec, observed);
    let remark = match (&result, observed) {
        (ResultType::Observed(..), Some(observed)) => {
            format!("  # {}", observation_remark(observed, "ast.literal_eval"))
        }
        (ResultType::Unknown, _) => format!("  # {UNKNOWN_NOTE}"),
        (ResultType::Declared(_) | ResultType::Observed(..), _) => String::new(),
    };
    text(spec, &result, &remark)
}

fn text(spec: &ToolSpec, result: &ResultType, remark: &str) -> String {
    let arguments = Types::of(&spec.input_schema);
    for object_levels in [OBJECT_LEVELS, 0] {
        let call = SignatureParts::of(spec, &arguments, result, object_levels);
        let signature = call.text(spec.callable.as_str(), call.parameters.len()) + remark;
        if signature.chars().count() <= MAX_CHARS {
            return signature;
        }
    }
    cut_signature(spec, &arguments, result)
}

/// A signature with as many parameters as fit.
fn cut_signature(spec: &ToolSpec, arguments: &Types, result: &ResultType) -> String {
    let mut call = SignatureParts::of(spec, arguments, result, 0);
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

/// The parts of a call.
struct SignatureParts {
    style: Style,
    parameters: Vec<Parameter>,
    /// Whether `parameters` contains all parameters.
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

impl SignatureParts {
    fn of(spec: &ToolSpec, arguments: &Types, result: &ResultType, object_levels: usize) -> Self {
        let mut types = CompactTypeWriter::new(arguments, Direction::Argument, object_levels);
        let fields = arguments.parameters();
        let style = match fields.iter().all(|it| is_keyword_argument(&it.name)) {
            true => Style::Keywords,
            false => Style::Dict,
        };
        let mut parameters: Vec<Parameter> = fields
            .iter()
            .take(MAX_PARAMETERS)
            .map(|field| {
                let text = match style {
                    Style::Keywords => keyword(field, types.type_of(&field.value_type)),
                    Style::Dict => entry(field, types.type_of(&field.value_type)),
                };
                Parameter { text, required: field.required }
            })
            .collect();
        if fields.is_empty() && takes_anything(&spec.input_schema.value()) {
            parameters.push(Parameter { text: "**arguments".to_owned(), required: true });
        }
        let returns = match result {
            ResultType::Declared(types) => {
                CompactTypeWriter::new(types, Direction::Result, object_levels).type_of(&types.root)
            }
            // The observation shows which keys can be missing.
            ResultType::Observed(types, _) => {
                CompactTypeWriter::new(types, Direction::Argument, object_levels)
                    .type_of(&types.root)
            }
            ResultType::Unknown => "Any".to_owned(),
        };
        let complete = fields.len() <= MAX_PARAMETERS;
        Self { style, parameters, complete, returns }
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

fn keyword(field: &Field, written: String) -> String {
    let name = &field.name;
    if field.required {
        return format!("{name}: {written}");
    }
    match &field.note.default {
        None | Some(Value::Null) => {
            format!("{name}: {} = None", union(vec![written, "None".to_owned()]))
        }
        Some(default) => {
            let default = python_literal(default).unwrap_or_else(|| "...".to_owned());
            format!("{name}: {written} = {default}")
        }
    }
}

fn entry(field: &Field, written: String) -> String {
    let name = json_string(&field.name);
    match field.required {
        true => format!("{name}: {written}"),
        false => format!("{name}: NotRequired[{written}]"),
    }
}
