//! Checks the arguments of one call in a program against the tool's schema.

use onecall_core::ToolSpec;
use onecall_core::nearest::word_similarity;
use onecall_core::text::visible_line;
use ruff_python_ast::{Arguments, Expr};
use serde_json::Value;

use super::literal::{entries, is_not_dict, partial_value};
use crate::{PartialValue, mismatches};

/// The similarity, from 0 to 1, at which a name counts as a misspelling of another.
const LIKENESS: f64 = 0.7;

/// The longest name that is considered a misspelling.
const LONGEST_NAME: usize = 64;

/// The problems with the arguments of a call.
#[derive(Default)]
pub(super) struct ArgumentProblems {
    /// Problems that raise an error as soon as the call is evaluated, even without `await`.
    pub(super) immediate: Vec<String>,
    /// Problems that the server rejects when the call is awaited.
    pub(super) when_awaited: Vec<String>,
}

/// The certain problems with the arguments of a call to `spec`.
pub(super) fn problems(spec: &ToolSpec, arguments: &Arguments) -> ArgumentProblems {
    let mut given = GivenArguments::default();
    given.take_positional(spec, &arguments.args);
    given.take_keywords(arguments);
    let schema = spec.input_schema.value();
    let is_open =
        schema.get("additionalProperties").is_none() && schema.get("patternProperties").is_none();
    let misspellings = if is_open { misspelt(spec, &given.entries) } else { Vec::new() };
    let mismatches = if given.complete {
        mismatches(&schema, &PartialValue::Entries(given.entries))
    } else {
        mismatches(&single_property_rules(&schema), &PartialValue::Entries(given.entries))
    };
    let mut when_awaited: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    when_awaited.extend(misspellings);
    ArgumentProblems { immediate: given.rejected, when_awaited }
}

/// Finds arguments that the schema does not have but that resemble one that is not given. Most
/// servers would ignore them silently.
fn misspelt(spec: &ToolSpec, given: &[(String, PartialValue)]) -> Vec<String> {
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
            Some(format!(
                "'{name}' is not a parameter; did you mean '{}'?",
                visible_line(meant(name)?)
            ))
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

/// The arguments as the worker will interpret them.
struct GivenArguments {
    entries: Vec<(String, PartialValue)>,
    /// Whether `entries` contains all arguments.
    complete: bool,
    rejected: Vec<String>,
}

impl Default for GivenArguments {
    fn default() -> Self {
        Self { entries: Vec::new(), complete: true, rejected: Vec::new() }
    }
}

impl GivenArguments {
    fn take_positional(&mut self, spec: &ToolSpec, positional: &[Expr]) {
        match positional {
            [] => {}
            [Expr::Dict(dict)] => match entries(dict) {
                Some(entries) => self.entries = entries,
                None => self.complete = false,
            },
            [only] if !is_not_dict(only) => self.complete = false,
            several if several.iter().any(Expr::is_starred_expr) => self.complete = false,
            several => {
                let parameters = spec.parameters();
                if several.len() > parameters.len() {
                    self.rejected.push(format!(
                        "it takes {} positional arguments but {} were given",
                        parameters.len(),
                        several.len()
                    ));
                }
                let names = parameters.into_iter();
                self.entries = names.zip(several.iter().map(partial_value)).collect();
            }
        }
    }

    fn take_keywords(&mut self, arguments: &Arguments) {
        let is_dict = matches!(&*arguments.args, [Expr::Dict(_)]);
        for keyword in &arguments.keywords {
            let Some(name) = &keyword.arg else {
                self.complete = false;
                continue;
            };
            let taken = self.entries.iter().position(|(taken, _)| taken == name.as_str());
            match taken.and_then(|position| self.entries.get_mut(position)) {
                Some(entry) if is_dict => entry.1 = partial_value(&keyword.value),
                Some(_) => self.rejected.push(format!("it got multiple values for '{name}'")),
                None => self.entries.push((name.to_string(), partial_value(&keyword.value))),
            }
        }
        // Entries from `**` may override those of a positional dict.
        if is_dict && !self.complete {
            let is_keyword = |name: &str| arguments.find_keyword(name).is_some();
            self.entries.retain(|(name, _)| is_keyword(name));
        }
    }
}
