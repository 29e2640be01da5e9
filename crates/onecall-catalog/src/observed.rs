//! The observed shape of a tool's results, for tools whose server declares no output schema.

use onecall_core::{ToolSpec, wrapped_schema};
use serde_json::Value;

use crate::python_text::PYTHON_LITERAL_FORMAT;
use crate::shape::Shape;
use crate::types::Types;

/// The shape of a tool's results so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedOutput {
    /// A JSON Schema of keys and types, without values.
    pub schema: Value,
    /// The number of results it was derived from.
    pub samples: u64,
}

/// What is known of a tool's result type.
pub(crate) enum ResultType {
    /// The server declares it.
    Declared(Types),
    /// The type was observed in this number of results.
    Observed(Types, u64),
    Unknown,
}

impl ResultType {
    /// The result type of a tool. The server's declaration has priority over observations.
    pub(crate) fn of(spec: &ToolSpec, observed: Option<&ObservedOutput>) -> Self {
        match (&spec.output_schema, observed) {
            (Some(schema), _) => {
                let schema = schema.value();
                Self::Declared(Types::read(&schema, wrapped_schema(&schema).unwrap_or(&schema)))
            }
            (None, Some(ObservedOutput { schema, samples })) => {
                Self::Observed(Types::read(schema, schema), *samples)
            }
            (None, None) => Self::Unknown,
        }
    }
}

impl ObservedOutput {
    /// The observation for a shape that was derived from this number of results.
    #[must_use]
    pub fn new(shape: &Shape, samples: u64) -> Self {
        Self { schema: shape.schema(), samples }
    }
}

/// The remark for a result type that is not known.
pub(crate) const UNKNOWN_NOTE: &str =
    "not declared; JSON text arrives parsed: print a small result first";

/// The marker of an observed type, which the server does not promise.
pub(crate) fn observation_note(samples: u64) -> String {
    let calls = if samples == 1 { "call" } else { "calls" };
    format!("observed in {samples} {calls}")
}

/// The remark about an observed result type: how to read it, if it is text that Python printed, and
/// how often it was observed. `reader` is the function that reads such text.
pub(crate) fn observation_remark(observed: &ObservedOutput, reader: &str) -> String {
    let note = observation_note(observed.samples);
    let format = observed.schema.get("format").and_then(Value::as_str);
    match format == Some(PYTHON_LITERAL_FORMAT) {
        true => format!("a Python literal, not JSON: read it with {reader}; {note}"),
        false => note,
    }
}

/// The marker of an observed type for generated files, with a rounded count, so that the files do
/// not change with every call.
pub(crate) fn rounded_observation_note(samples: u64) -> String {
    match [1_000, 100, 10].into_iter().find(|many| samples >= *many) {
        Some(many) => format!("result as observed in {many} or more calls, not declared"),
        None => format!("result as {}, not declared", observation_note(samples)),
    }
}
