//! The documentation of a value in a schema, besides its type.

use serde_json::{Map, Number, Value};

use crate::literal::{is_short, json_string};

/// The longest description that is kept, in characters; the output may cut it further.
const MAX_DESCRIPTION: usize = 4_000;

/// The documentation of a value: its description, default and constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    pub(crate) description: Option<String>,
    pub(crate) default: Option<Value>,
    /// Formats and ranges, as short phrases without control characters.
    pub(crate) details: Vec<String>,
}

impl Note {
    /// Reads the documentation in `schema`.
    pub(super) fn of(schema: &Value) -> Self {
        let Some(keywords) = schema.as_object() else { return Self::default() };
        let text = |name: &str| keywords.get(name).and_then(Value::as_str);
        let description = text("description").map(|it| it.chars().take(MAX_DESCRIPTION).collect());
        let mut details = Vec::new();
        if keywords.get("deprecated") == Some(&Value::Bool(true)) {
            details.push("deprecated".to_owned());
        }
        for (keyword, name) in [("format", "format"), ("pattern", "pattern")] {
            if let Some(value) = text(keyword).filter(|it| is_short(it)) {
                details.push(format!("{name} {}", escaped(value)));
            }
        }
        let exclusive = ["exclusiveMinimum", "exclusiveMaximum"];
        details.extend(range(keywords, ["minimum", "maximum"], exclusive, ""));
        details.extend(range(keywords, ["minLength", "maxLength"], [""; 2], " characters"));
        details.extend(range(keywords, ["minItems", "maxItems"], [""; 2], " items"));
        if let Some(Value::Number(step)) = keywords.get("multipleOf") {
            details.push(format!("a multiple of {step}"));
        }
        let default = keywords.get("default").cloned();
        Self { description, default, details }
    }
}

/// The text as JSON would quote it, without the quotes.
fn escaped(text: &str) -> String {
    json_string(text).trim_matches('"').to_owned()
}

fn range(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    [above, below]: [&str; 2],
    unit: &str,
) -> Option<String> {
    let number = |name: &str| match keywords.get(name) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    };
    let shown = |number: &Number, unit: &str| format!("{number}{unit}");
    let bounds = match (number(least), number(most)) {
        (Some(least), Some(most)) if least == most => Some(format!("exactly {least}{unit}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {}", shown(least, unit))),
        (None, Some(most)) => Some(format!("at most {}", shown(most, unit))),
        (None, None) => None,
    };
    let parts = [
        bounds,
        number(above).map(|it| format!("above {}", shown(it, unit))),
        number(below).map(|it| format!("below {}", shown(it, unit))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
