//! Chooses tools and arguments for the generated examples.

use onecall_core::{ToolCategory, ToolSpec};
use serde_json::{Value, json};

use super::LocatedTool;
use crate::types::{Field, Type, Types};

/// The largest number of required parameters of a tool in an example.
const MAX_REQUIRED: usize = 4;

/// The tools that examples use: those that change nothing and are easy to call.
pub(super) fn example_tools<'a>(
    located: &'a [LocatedTool<'a>],
) -> Vec<(&'a LocatedTool<'a>, Vec<(String, Value)>)> {
    let is_harmless =
        |category: ToolCategory| matches!(category, ToolCategory::Query | ToolCategory::Validation);
    let harmless = located.iter().filter(|it| is_harmless(it.tool.category));
    let mut example_tools: Vec<_> =
        harmless.filter_map(|it| Some((it, arguments(&it.tool.spec)?))).collect();
    // Tools without required arguments come first, and lists are best for filtering.
    example_tools.sort_by_key(|(located, arguments)| {
        let name = located.location.function.to_lowercase();
        let is_many =
            ["list", "search", "find", "query", "rows"].iter().any(|it| name.contains(it));
        (!is_many, arguments.len())
    });
    example_tools
}

/// A sample value for every required argument, if all of them have simple types.
fn arguments(spec: &ToolSpec) -> Option<Vec<(String, Value)>> {
    let types = Types::of(&spec.input_schema);
    if !matches!(types.root, Type::Object(_) | Type::Map(_)) {
        return None;
    }
    let required: Vec<&Field> = types.parameters().iter().filter(|it| it.required).collect();
    if required.len() > MAX_REQUIRED {
        return None;
    }
    required.into_iter().map(|field| Some((field.name.clone(), value(field, &types)?))).collect()
}

fn value(field: &Field, types: &Types) -> Option<Value> {
    let value_type = match &field.value_type {
        Type::Reference(target) => &types.targets.get(*target)?.value_type,
        other => other,
    };
    let format = |name: &str| field.note.details.iter().any(|it| *it == format!("format {name}"));
    Some(match value_type {
        Type::Text if format("date") => json!("2025-01-31"),
        Type::Text if format("date-time") => json!("2025-01-31T12:00:00Z"),
        Type::Text if format("uri") => json!("https://example.com"),
        Type::Text => json!("example"),
        Type::Integer | Type::Number => json!(1),
        Type::Boolean => json!(false),
        // Literals that are too long are not part of the generated type either.
        Type::Literals(values) => {
            let first = values.iter().find(|it| it.to_string().len() <= 60 && !it.is_null())?;
            first.clone()
        }
        Type::List(_) => json!([]),
        _ => return None,
    })
}
