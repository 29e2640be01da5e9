//! What real results of a tool looked like, where its server does not say.

use onecall_core::{ToolSpec, wrapped_schema};
use serde_json::Value;

use crate::shape::Shape;
use crate::types::Types;

/// The shape of the results of a tool so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// As a JSON Schema of keys and types; it has no values.
    pub schema: Value,
    /// How many results it was made from.
    pub samples: u64,
}

/// What is known of a tool's result.
pub(crate) enum ResultType {
    /// The server says so.
    Declared(Types),
    /// It was like this as many times.
    Observed(Types, u64),
    Unknown,
}

impl ResultType {
    /// What the server says counts before what was observed.
    pub(crate) fn of(spec: &ToolSpec, observed: Option<&Observed>) -> Self {
        match (&spec.output_schema, observed) {
            (Some(schema), _) => {
                let schema = schema.value();
                Self::Declared(Types::read(&schema, wrapped_schema(&schema).unwrap_or(&schema)))
            }
            (None, Some(Observed { schema, samples })) => {
                Self::Observed(Types::read(schema, schema), *samples)
            }
            (None, None) => Self::Unknown,
        }
    }
}

impl Observed {
    /// What a shape that was made from so many results tells.
    #[must_use]
    pub fn new(shape: &Shape, samples: u64) -> Self {
        Self { schema: shape.schema(), samples }
    }
}

/// The mark of a type that nobody promises.
pub(crate) fn as_observed(samples: u64) -> String {
    let calls = if samples == 1 { "call" } else { "calls" };
    format!("observed in {samples} {calls}")
}

/// The same for files, which are not to change with every call.
pub(crate) fn as_observed_roughly(samples: u64) -> String {
    match [1_000, 100, 10].into_iter().find(|many| samples >= *many) {
        Some(many) => format!("result as observed in {many} or more calls, not declared"),
        None => format!("result as {}, not declared", as_observed(samples)),
    }
}
