//! The value of a tool's answer, as a program receives it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::replace_nonfinite;

/// The value of a tool's answer, still as text: only the program parses it.
#[derive(Clone, Debug)]
pub enum ToolValue {
    /// The tool answered without content; the program gets `None`.
    Nothing,
    /// A JSON document.
    Json(Box<RawValue>),
    /// Text that is a JSON value if it parses as one, and a string otherwise. `NaN`, `Infinity`
    /// and `-Infinity` count as JSON numbers here.
    Text(String),
    /// A value together with images, audio or resources.
    WithContent {
        /// The value: one of the other variants.
        value: Box<ToolValue>,
        /// All content blocks of the answer, a JSON array.
        content: Box<RawValue>,
    },
}

/// Values are equal if their kind and their text are.
impl PartialEq for ToolValue {
    fn eq(&self, other: &Self) -> bool {
        self.encode() == other.encode()
    }
}

impl Eq for ToolValue {}

/// The serialized form of a value with content: the kind and the text of the value, and the
/// content.
#[derive(Deserialize)]
struct EncodedContent(String, String, Box<RawValue>);

impl ToolValue {
    /// The size of the value in bytes of text.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Json(json) => json.get().len(),
            Self::Text(text) => text.len(),
            Self::WithContent { value, content } => value.size() + content.get().len(),
        }
    }

    /// The value without the content that came with it.
    #[must_use]
    pub fn without_content(&self) -> &Self {
        match self {
            Self::WithContent { value, .. } => value,
            value => value,
        }
    }

    /// The name of the variant.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Json(_) => "json",
            Self::Text(_) => "text",
            Self::WithContent { .. } => "content",
        }
    }

    /// Serializes the value as the name of its kind and a text, to be stored or sent.
    #[must_use]
    pub fn encode(&self) -> (&'static str, Cow<'_, str>) {
        match self {
            Self::Nothing => ("nothing", Cow::Borrowed("")),
            Self::Json(json) => ("json", Cow::Borrowed(json.get())),
            Self::Text(text) => ("text", Cow::Borrowed(text)),
            Self::WithContent { value, content } => {
                let (kind, text) = value.encode();
                // Serializing strings and JSON cannot fail.
                let all = to_raw_value(&(kind, text, content)).unwrap_or_default();
                ("content", Cow::Owned(Box::<str>::from(all).into_string()))
            }
        }
    }

    /// Parses a value that was [encoded](Self::encode) as this kind and text; `None` if the kind
    /// or the text is invalid.
    #[must_use]
    pub fn decode(kind: &str, text: String) -> Option<Self> {
        match kind {
            "nothing" if text.is_empty() => Some(Self::Nothing),
            "json" => RawValue::from_string(text).ok().map(Self::Json),
            "text" => Some(Self::Text(text)),
            "content" => {
                let EncodedContent(kind, text, content) = serde_json::from_str(&text).ok()?;
                let value = Self::decode(&kind, text).filter(|_| kind != "content")?;
                Some(Self::WithContent { value: Box::new(value), content })
            }
            _ => None,
        }
    }
}

/// Parses the text of a [`ToolValue::Text`] as JSON, as a program would; `None` if it is not JSON.
/// Numbers that JSON does not have become `null`, as most encoders write them.
#[must_use]
pub fn json_of_text(text: &str) -> Option<Cow<'_, RawValue>> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => Some(Cow::Borrowed(json)),
        Err(_) => {
            let json = replace_nonfinite(text, |_| "null")?;
            RawValue::from_string(json).ok().map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_value_can_be_read_again() {
        let json = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let content = || json(r#"[{"type":"image","data":"AA=="}]"#);
        let with = |value| ToolValue::WithContent { value: Box::new(value), content: content() };
        for (value, expected) in [
            (ToolValue::Nothing, ("nothing", "")),
            (ToolValue::Json(json("[1.0]")), ("json", "[1.0]")),
            (ToolValue::Text("[NaN]".to_owned()), ("text", "[NaN]")),
            (
                with(ToolValue::Text("a \"b\"".to_owned())),
                ("content", r#"["text","a \"b\"",[{"type":"image","data":"AA=="}]]"#),
            ),
            (
                with(ToolValue::Json(json("{}"))),
                ("content", r#"["json","{}",[{"type":"image","data":"AA=="}]]"#),
            ),
        ] {
            let (kind, text) = value.encode();
            assert_eq!((kind, &*text), expected);
            let again = ToolValue::decode(kind, text.clone().into_owned()).unwrap();
            assert_eq!(again.encode(), (kind, text));
        }
    }

    #[test]
    fn text_is_json_or_a_string() {
        for (text, expected) in [
            ("[1, 2]", Some("[1, 2]")),
            ("[NaN, -Infinity]", Some("[null, null]")),
            ("NaN", Some("null")),
            ("[NaN", None),
            ("to Infinity and beyond", None),
        ] {
            assert_eq!(json_of_text(text).as_deref().map(RawValue::get), expected, "{text}");
        }
    }

    #[test]
    fn what_was_not_written_is_no_value() {
        for (kind, text) in [
            ("nothing", "x"),
            ("json", "[NaN]"),
            ("other", ""),
            ("content", r#"["json","[",[]]"#),
            ("content", r#"["content","[\"text\",\"\",[]]",[]]"#),
            ("content", r#"["text","a"]"#),
        ] {
            assert!(ToolValue::decode(kind, text.to_owned()).is_none(), "{kind} {text}");
        }
    }
}
