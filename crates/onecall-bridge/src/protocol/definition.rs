//! Limits the size of tool definitions: long descriptions are cut, and deeply nested schemas are
//! flattened. The tool itself stays usable.

use std::sync::Arc;

use onecall_config::ServerLimits;
use onecall_core::Schema;
use onecall_core::text::with_thousands_separators;
use serde_json::json;
use serde_json::value::RawValue;

/// The description, cut to the allowed number of characters, with a note if it was longer.
pub(crate) fn description(text: &str, limits: &ServerLimits) -> Arc<str> {
    let longest = limits.max_description_chars;
    let Some((end, _)) = text.char_indices().nth(longest) else { return text.into() };
    let all = text.chars().count();
    let (missing, all) =
        (with_thousands_separators(all.saturating_sub(longest)), with_thousands_separators(all));
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}… (cut: {missing} of {all} characters)").into()
}

/// The schema, cut to the allowed number of levels. One that is too deep to be parsed at all
/// becomes a schema that accepts any object.
pub(crate) fn schema(raw: &RawValue, limits: &ServerLimits) -> Schema {
    let schema = serde_json::from_str(raw.get()).unwrap_or_else(|_| json!({ "type": "object" }));
    Schema::with_max_depth(schema, limits.max_schema_depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_much_goes() {
        let limits =
            ServerLimits { max_description_chars: 2, max_schema_depth: 3, ..Default::default() };
        assert_eq!(&*description("äöü", &limits), "äö… (cut: 1 of 3 characters)");
        assert_eq!(&*description("äö", &limits), "äö");
        let raw = r#"{ "properties": { "a": { "type": "object", "properties": { "b": {} } } } }"#;
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        let expected = json!({ "properties": { "a": { "type": "object", "properties": true } } });
        assert_eq!(*schema(&raw, &limits).value(), expected);
    }
}
