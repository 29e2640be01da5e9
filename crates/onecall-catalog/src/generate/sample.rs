//! Arguments that an example can call a tool with.

use onecall_core::{Category, ToolSpec};
use serde_json::{Value, json};

use super::Placed;
use crate::types::{Field, Type, Types};

/// Parameters that an example has to give; a tool that demands more is no example.
const MAX_REQUIRED: usize = 4;

/// The tools that examples use: those that change nothing and are easily called.
pub(super) fn simple<'a>(placed: &'a [Placed<'a>]) -> Vec<(&'a Placed<'a>, Vec<(String, Value)>)> {
    let is_harmless =
        |category: Category| matches!(category, Category::Query | Category::Validation);
    let harmless = placed.iter().filter(|it| is_harmless(it.tool.category));
    let mut simple: Vec<_> =
        harmless.filter_map(|it| Some((it, arguments(&it.tool.spec)?))).collect();
    // What needs nothing can be tried at once, and lists have something to filter.
    simple.sort_by_key(|(placed, arguments)| {
        let name = placed.place.function.to_lowercase();
        let is_many =
            ["list", "search", "find", "query", "rows"].iter().any(|it| name.contains(it));
        (!is_many, arguments.len())
    });
    simple
}

/// A value for everything the tool demands, if all of that is plain.
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
    let of = match &field.of {
        Type::Reference(target) => &types.targets.get(*target)?.of,
        of => of,
    };
    let format = |name: &str| field.note.details.iter().any(|it| *it == format!("format {name}"));
    Some(match of {
        Type::Text if format("date") => json!("2025-01-31"),
        Type::Text if format("date-time") => json!("2025-01-31T12:00:00Z"),
        Type::Text if format("uri") => json!("https://example.com"),
        Type::Text => json!("example"),
        Type::Integer | Type::Number => json!(1),
        Type::Boolean => json!(false),
        // A value that is too long to be named is not part of the type either.
        Type::Literals(values) => {
            let first = values.iter().find(|it| it.to_string().len() <= 60 && !it.is_null())?;
            first.clone()
        }
        Type::List(_) => json!([]),
        _ => return None,
    })
}
