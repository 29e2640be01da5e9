//! Checks the arguments of one call in a program against the tool's schema.

use onecall_core::ToolSpec;
use onecall_core::nearest::word_similarity;
use onecall_core::text::visible_line;
use serde_json::Value;

use crate::{PartialValue, mismatches};

/// The similarity, from 0 to 1, at which a name counts as a misspelling of another.
const LIKENESS: f64 = 0.7;

/// The longest name that is considered a misspelling.
const LONGEST_NAME: usize = 64;

/// The arguments of a call, as far as the source shows them.
pub(super) struct GivenArguments {
    pub(super) entries: Vec<(String, PartialValue)>,
    /// Whether `entries` contains all arguments.
    pub(super) complete: bool,
}

impl Default for GivenArguments {
    fn default() -> Self {
        Self { entries: Vec::new(), complete: true }
    }
}

impl GivenArguments {
    /// The certain problems of a call to `spec` with these arguments.
    pub(super) fn problems(self, spec: &ToolSpec) -> Vec<String> {
        let schema = spec.input_schema.value();
        let is_open = schema.get("additionalProperties").is_none()
            && schema.get("patternProperties").is_none();
        let misspellings = if is_open { misspelt(spec, &self.entries) } else { Vec::new() };
        let entries = PartialValue::Entries(self.entries);
        let mismatches = match self.complete {
            true => mismatches(&schema, &entries),
            false => mismatches(&single_property_rules(&schema), &entries),
        };
        let mut problems: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        for Misspelling { name, message } in misspellings {
            let quoted = format!("'{name}'");
            if !problems.iter().any(|problem| problem.contains(&quoted)) {
                problems.push(message);
            }
        }
        problems
    }
}

/// An argument that the schema does not have but that resembles one that is not given.
struct Misspelling {
    name: String,
    message: String,
}

/// Finds misspelt arguments. Most servers would ignore them silently.
fn misspelt(spec: &ToolSpec, given: &[(String, PartialValue)]) -> Vec<Misspelling> {
    let declared = spec.parameters();
    let is_free = |name: &&str| given.iter().all(|(taken, _)| taken != name);
    let free: Vec<&str> = declared.iter().map(String::as_str).filter(is_free).collect();
    let meant = |name: &str| {
        let scored = free.iter().map(|it| (word_similarity(name, it), *it));
        let close = scored.filter(|(likeness, _)| *likeness >= LIKENESS);
        close.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, it)| it)
    };
    let unknown = given
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|it| !declared.iter().any(|known| known == it));
    unknown
        .filter(|name| name.len() <= LONGEST_NAME)
        .filter_map(|name| {
            let meant = visible_line(meant(name)?);
            let message = format!("'{name}' is not a parameter; did you mean '{meant}'?");
            Some(Misspelling { name: name.to_owned(), message })
        })
        .collect()
}

/// The part of a schema that applies independently of other arguments.
fn single_property_rules(schema: &Value) -> Value {
    let kept = ["properties", "additionalProperties", "patternProperties", "$defs", "definitions"];
    let Value::Object(schema) = schema else { return Value::Bool(true) };
    let part = schema.iter().filter(|(keyword, _)| kept.contains(&keyword.as_str()));
    Value::Object(part.map(|(keyword, value)| (keyword.clone(), value.clone())).collect())
}
