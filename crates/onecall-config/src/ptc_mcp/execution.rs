//! Reads the section `execution` of a ptc-mcp configuration. Numbers that exceed the range of
//! onecall are reduced to its maximum.

use std::time::Duration;

use onecall_core::{RunLimits, TotalLimits};

use super::mapping::{KnownKeys, entries};
use crate::document::{Node, Scalar, ScalarKind, Value};
use crate::error::{Problem, Report};
use crate::execution::{MAX_OUTPUT_BYTES, MAX_TOOL_CALLS, read_execution};
use crate::reader::MAX_SECONDS;

/// The keys of the section with their largest values.
const MAX_VALUES: [(&str, u64); 3] = [
    ("timeout_seconds", MAX_SECONDS),
    ("max_output_bytes", MAX_OUTPUT_BYTES),
    ("max_tool_calls", MAX_TOOL_CALLS),
];

/// Reads the section `execution`.
pub(super) fn read(
    section: Node,
    warnings: &mut Report,
    report: &mut Report,
) -> (RunLimits, TotalLimits) {
    let at = section.at;
    let keys = MAX_VALUES.map(|(name, _)| name);
    let known = KnownKeys { what: "execution", keys: &keys, consequence: "" };
    let mut pairs = entries(section, &known, warnings, report);
    for (key, value) in &mut pairs {
        let name = key.as_written().unwrap_or_default();
        let largest =
            MAX_VALUES.iter().find(|(known, _)| *known == name).map(|(_, largest)| *largest);
        if let (Value::Scalar(scalar), Some(largest)) = (&mut value.value, largest) {
            join_digits(scalar);
            if is_above(scalar, largest) {
                let message = format!(
                    "'{name}' in execution is more than onecall takes, and counts as {largest}"
                );
                warnings.add(Problem::new(value.at, message));
                *scalar = Scalar::plain(&largest.to_string());
            }
        }
    }
    let section = Node { at, value: Value::Mapping(pairs) };
    read_execution(&section, report).unwrap_or_default()
}

/// Converts numbers such as `65_536`, which are valid in YAML 1.1, the version that ptc-mcp reads.
fn join_digits(scalar: &mut Scalar) {
    let is_number = scalar.text.starts_with(|first: char| first.is_ascii_digit())
        && scalar.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if scalar.kind == ScalarKind::Text && is_number {
        *scalar = Scalar::plain(&scalar.text.replace('_', ""));
    }
}

fn is_above(scalar: &Scalar, largest: u64) -> bool {
    match scalar.kind {
        ScalarKind::Integer(value) => u64::try_from(value).is_ok_and(|value| value > largest),
        ScalarKind::Float(value) => value > Duration::from_secs(largest).as_secs_f64(),
        ScalarKind::Null | ScalarKind::Boolean(_) | ScalarKind::Text => false,
    }
}
