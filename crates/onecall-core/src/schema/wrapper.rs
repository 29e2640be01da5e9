//! Output schemas that wrap a value. Structured content has to be an object, so the Python SDKs
//! send any other value as `{"result": value}` and mark the schema that they declare for it.

use serde_json::Value;

use super::Schema;

/// How structured content that follows an output schema carries the value of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputForm {
    /// The structured content is the value.
    Plain,
    /// The value is the member `result` of the structured content.
    Wrapped,
    /// The value is the member `result`, and it is always a string.
    WrappedText,
}

impl Schema {
    /// How structured content that follows this output schema carries the value. Computed once.
    #[must_use]
    pub fn output_form(&self) -> OutputForm {
        *self.output_form.get_or_init(|| {
            // Most schemas are not wrappers; a text search rules them out without parsing.
            if !self.text.contains(r#""result""#) {
                return OutputForm::Plain;
            }
            match wrapped_schema(&self.value()) {
                None => OutputForm::Plain,
                Some(value) if value.get("type") == Some(&Value::from("string")) => {
                    OutputForm::WrappedText
                }
                Some(_) => OutputForm::Wrapped,
            }
        })
    }
}

/// The schema of the value that an output schema wraps; `None` if the schema describes an object
/// that is the value itself.
///
/// A wrapper has one property, a required `result`, and either `x-fastmcp-wrap-result` or a title
/// that ends in `Output`. An object of the tool's author that happens to have one field `result`
/// has neither.
#[must_use]
pub fn wrapped_schema(schema: &Value) -> Option<&Value> {
    let properties = schema.get("properties")?.as_object()?;
    let result = properties.get("result").filter(|_| properties.len() == 1)?;
    let is_required = schema.get("required")?.as_array()?.iter().any(|name| name == "result");
    let is_marked = schema.get("x-fastmcp-wrap-result") == Some(&Value::Bool(true))
        || schema.get("title").and_then(Value::as_str).is_some_and(|it| it.ends_with("Output"));
    (is_required && is_marked).then_some(result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: Value) -> OutputForm {
        Schema::from(schema).output_form()
    }

    #[test]
    fn wrappers_are_told_from_objects_of_authors() {
        let of = |title: &str, result: Value| {
            json!({ "type": "object", "properties": { "result": result }, "required": ["result"],
                "title": title })
        };
        let without = |mut schema: Value, key: &str| {
            schema.as_object_mut().unwrap().remove(key);
            schema
        };
        let with = |mut schema: Value, key: &str, value: Value| {
            schema[key] = value;
            schema
        };
        let text = json!({ "type": "string", "title": "Result" });
        let list = json!({ "type": "array" });
        let wrapper = of("toolOutput", list.clone());
        assert_eq!(form(of("toolOutput", text.clone())), OutputForm::WrappedText);
        assert_eq!(
            form(of("toolOutput", json!({ "type": ["string", "null"] }))),
            OutputForm::Wrapped
        );
        assert_eq!(form(wrapper.clone()), OutputForm::Wrapped);
        let marked = with(without(wrapper.clone(), "title"), "x-fastmcp-wrap-result", json!(true));
        assert_eq!(form(marked.clone()), OutputForm::Wrapped);
        assert_eq!(wrapped_schema(&marked), Some(&list));
        for object in [
            of("Answer", text),
            without(wrapper.clone(), "title"),
            with(marked, "x-fastmcp-wrap-result", json!(false)),
            without(wrapper.clone(), "required"),
            with(wrapper.clone(), "required", json!([])),
            with(wrapper, "properties", json!({ "result": {}, "more": {} })),
            json!({ "title": "toolDictOutput", "additionalProperties": { "type": "integer" } }),
            json!({ "title": "toolOutput", "required": ["result"] }),
            json!(true),
        ] {
            assert_eq!(form(object.clone()), OutputForm::Plain, "{object}");
        }
    }
}
