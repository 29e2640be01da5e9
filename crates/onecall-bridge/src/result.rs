//! What a tool's answer means to a program: the contract "Values" of the design.
//! Text and structured content are taken over as text; only the program parses them.

use std::borrow::Cow;
use std::fmt;

use onecall_core::ToolValue;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The result of `tools/call`. `C` is what its content is read as.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "C: Deserialize<'de>"))]
struct CallResult<'a, C> {
    content: Option<C>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    is_error: Option<bool>,
    /// Says whether the server is done or has a question.
    #[serde(borrow)]
    result_type: Option<&'a RawValue>,
    /// What servers before the first released revision answered with.
    #[serde(borrow)]
    tool_result: Option<&'a RawValue>,
}

/// A block of text, which is an object: a derived reader would also take an array for
/// the fields in order.
struct TextBlock {
    text: String,
}

#[derive(Deserialize)]
struct TextFields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    text: String,
}

impl<'de> Deserialize<'de> for TextBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextBlockVisitor)
    }
}

struct TextBlockVisitor;

impl<'de> Visitor<'de> for TextBlockVisitor {
    type Value = TextBlock;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text block")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let TextFields { kind, text } = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        if kind != "text" {
            return Err(A::Error::invalid_value(Unexpected::Str(&kind), &self));
        }
        Ok(TextBlock { text })
    }
}

#[derive(Deserialize)]
struct BlockKind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

/// The one key under which frameworks wrap a value that is no object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

enum Block<'a> {
    Text(String),
    Other(&'a RawValue),
}

/// Turns the result of `tools/call` into a value, or into the message of the
/// error that the program meets.
pub(crate) fn tool_value(result: &RawValue) -> Result<ToolValue, String> {
    let (result, blocks) = read(result)
        .map_err(|detail| format!("the server sent a result that is not valid: {detail}"))?;
    if result.result_type.is_some_and(|kind| kind.get() == r#""input_required""#) {
        return Err("the tool asks for more input, which onecall cannot give".to_owned());
    }
    if result.is_error == Some(true) {
        return Err(error_message(blocks, result.structured_content));
    }
    if let Some(structured) = result.structured_content {
        return Ok(structured_value(structured, blocks));
    }
    match (&*blocks, result.tool_result) {
        ([], Some(value)) => Ok(ToolValue::Json(value.to_owned())),
        ([], None) => Ok(ToolValue::Nothing),
        ([Block::Other(block)], _) => Ok(ToolValue::Json((*block).to_owned())),
        _ if blocks.iter().all(|block| matches!(block, Block::Text(_))) => {
            Ok(joined_text(blocks).map_or(ToolValue::Nothing, ToolValue::Text))
        }
        _ => array(&blocks),
    }
}

/// The same for somebody who wants the answer as it is.
pub(crate) fn whole_answer(result: &RawValue) -> Result<ToolValue, String> {
    tool_value(result).map(|_| ToolValue::Json(result.to_owned()))
}

/// The same for somebody who also wants to know how the tool says that it failed.
pub(crate) fn untouched(result: &RawValue) -> Result<ToolValue, String> {
    let failed = read(result).is_ok_and(|(result, _)| result.is_error == Some(true));
    if failed { Ok(ToolValue::Json(result.to_owned())) } else { whole_answer(result) }
}

type Read<'a> = (CallResult<'a, ()>, Vec<Block<'a>>);

fn read(result: &RawValue) -> Result<Read<'_>, String> {
    let json = result.get();
    if !json.starts_with('{') {
        // Serde would read an array as the fields in order.
        return Err("it is not an object".to_owned());
    }
    // Nearly every result is text alone, and then one pass is enough.
    if let Ok(mut result) = serde_json::from_str::<CallResult<'_, Vec<TextBlock>>>(json) {
        let texts = result.content.take().unwrap_or_default();
        let blocks = texts.into_iter().map(|block| Block::Text(block.text)).collect();
        return Ok((result.without_content(), blocks));
    }
    let mut result: CallResult<'_, Vec<&RawValue>> =
        serde_json::from_str(json).map_err(|error| error.to_string())?;
    let content = result.content.take().unwrap_or_default();
    let blocks = content.into_iter().map(block).collect::<Result<_, _>>()?;
    Ok((result.without_content(), blocks))
}

impl<'a, C> CallResult<'a, C> {
    fn without_content(self) -> CallResult<'a, ()> {
        CallResult {
            content: None,
            structured_content: self.structured_content,
            is_error: self.is_error,
            result_type: self.result_type,
            tool_result: self.tool_result,
        }
    }
}

fn block(raw: &RawValue) -> Result<Block<'_>, String> {
    if !raw.get().starts_with('{') {
        return Err("a content block is not an object".to_owned());
    }
    match serde_json::from_str::<BlockKind<'_>>(raw.get()) {
        Ok(BlockKind { kind }) if kind == "text" => serde_json::from_str::<TextBlock>(raw.get())
            .map(|block| Block::Text(block.text))
            .map_err(|error| format!("a text block is broken: {error}")),
        _ => Ok(Block::Other(raw)),
    }
}

/// All text of `blocks`, `None` if there is no text block.
fn joined_text(blocks: Vec<Block<'_>>) -> Option<String> {
    let texts = blocks.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Other(_) => None,
    });
    texts.reduce(|mut joined, text| {
        joined.push('\n');
        joined.push_str(&text);
        joined
    })
}

fn error_message(blocks: Vec<Block<'_>>, structured: Option<&RawValue>) -> String {
    joined_text(blocks)
        .filter(|text| !text.trim().is_empty())
        .or_else(|| structured.map(|structured| structured.get().to_owned()))
        .unwrap_or_else(|| "the tool reported an error without a message".to_owned())
}

fn structured_value(structured: &RawValue, blocks: Vec<Block<'_>>) -> ToolValue {
    let Some(value) = wrapped_value(structured) else {
        return ToolValue::Json(structured.to_owned());
    };
    // Frameworks write a wrapped list as one text block per item, and nothing
    // for null; both are the value's text as much as a number's digits are.
    if value.get() == "null" && blocks.is_empty() {
        return ToolValue::Nothing;
    }
    if are_texts_of_items(value, &blocks) {
        return ToolValue::Json(value.to_owned());
    }
    match joined_text(blocks) {
        Some(text) if is_text_of(value.get(), &text) => ToolValue::Text(text),
        _ => ToolValue::Json(structured.to_owned()),
    }
}

/// Whether `value` is a list and `blocks` are the texts of its items, in order.
fn are_texts_of_items(value: &RawValue, blocks: &[Block<'_>]) -> bool {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else { return false };
    items.len() == blocks.len()
        && items.iter().zip(blocks).all(|(item, block)| match block {
            Block::Text(text) => is_text_of(item.get(), text),
            Block::Other(_) => false,
        })
}

/// The `v` of `{"result": v}`.
fn wrapped_value(structured: &RawValue) -> Option<&RawValue> {
    let json = structured.get();
    let wrapped = serde_json::from_str::<Wrapped<'_>>(json.starts_with('{').then_some(json)?);
    wrapped.ok().map(|wrapped| wrapped.result)
}

/// Whether `text` is how a server would write the value `json` as text.
fn is_text_of(json: &str, text: &str) -> bool {
    json == text
        || (json.starts_with('"') && serde_json::from_str(json).is_ok_and(|value: String| value == text))
        // Values of different kinds need no parsing to be told apart.
        || (json.as_bytes().first() == text.trim_ascii().as_bytes().first() && are_equal(json, text))
}

fn are_equal(left: &str, right: &str) -> bool {
    let parse = |json| serde_json::from_str::<Value>(json).ok();
    parse(left).is_some_and(|left| parse(right) == Some(left))
}

/// Text and other blocks mixed: an array of strings and blocks.
fn array(blocks: &[Block<'_>]) -> Result<ToolValue, String> {
    let items: Vec<Cow<'_, RawValue>> = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => serde_json::value::to_raw_value(text).map(Cow::Owned),
            Block::Other(raw) => Ok(Cow::Borrowed(*raw)),
        })
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    serde_json::value::to_raw_value(&items).map(ToolValue::Json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program gets for `result`, in short.
    fn value(result: &str) -> String {
        let result = RawValue::from_string(result.to_owned()).unwrap();
        match tool_value(&result) {
            Ok(ToolValue::Nothing) => "nothing".to_owned(),
            Ok(ToolValue::Json(json)) => format!("json {json}"),
            Ok(ToolValue::Text(text)) => format!("text {text}"),
            Err(message) => format!("error {message}"),
        }
    }

    #[test]
    fn text_is_joined() {
        assert_eq!(value(r#"{"content":[{"type":"text","text":"a \"b\""}]}"#), "text a \"b\"");
        assert_eq!(
            value(
                r#"{"content":[{"type":"text","text":"a"},{"text":"b","type":"text","_meta":{}}]}"#
            ),
            "text a\nb"
        );
        assert_eq!(value(r#"{"content":[{"type":"text","text":""}]}"#), "text ");
    }

    #[test]
    fn no_content_is_nothing() {
        assert_eq!(value("{}"), "nothing");
        assert_eq!(value(r#"{"content":[],"isError":false,"_meta":{}}"#), "nothing");
        assert_eq!(value(r#"{"content":null,"structuredContent":null,"isError":null}"#), "nothing");
    }

    #[test]
    fn structured_content_wins_and_is_passed_on_as_it_is() {
        let s = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":S}"#;
        let with = |structured: &str| value(&s.replace('S', structured));
        assert_eq!(
            with(r#"{"n": 1.10, "big":12345678901234567890123}"#),
            r#"json {"n": 1.10, "big":12345678901234567890123}"#
        );
        assert_eq!(with(r#"{"result":"y"}"#), r#"json {"result":"y"}"#);
        assert_eq!(with(r#"{"result":"x","more":1}"#), r#"json {"result":"x","more":1}"#);
        assert_eq!(with(r#"["x"]"#), r#"json ["x"]"#);
        assert_eq!(with("null"), "text x");
        assert_eq!(
            value(r#"{"content":[],"structuredContent":{"result":""}}"#),
            r#"json {"result":""}"#
        );
    }

    #[test]
    fn a_wrapped_value_whose_text_is_there_is_that_text() {
        let check = |wrapped: &str, text: &str| {
            let text = serde_json::to_string(text).unwrap();
            value(&format!(
                r#"{{"structuredContent":{{"result":{wrapped}}},"content":[{{"type":"text","text":{text}}}]}}"#
            ))
        };
        assert_eq!(check(r#""plain \u00e9""#, "plain é"), "text plain é");
        assert_eq!(check("5", "5"), "text 5");
        assert_eq!(
            check(r#"[1,{"a":2}]"#, "[\n  1,\n  {\"a\": 2}\n]"),
            "text [\n  1,\n  {\"a\": 2}\n]"
        );
        assert_eq!(check(r#""a""#, "\"a\""), "text \"a\"");
        assert_eq!(check("null", "null"), "text null");
        assert_eq!(check("[1,2]", "1\n2"), r#"json {"result":[1,2]}"#);
        assert_eq!(check(r#"["one"]"#, "one"), r#"json ["one"]"#);
        assert_eq!(check("[1,2]", "[1,3]"), r#"json {"result":[1,2]}"#);
        assert_eq!(check("true", "True"), r#"json {"result":true}"#);
    }

    #[test]
    fn a_wrapped_list_whose_items_are_there_as_texts_is_that_list() {
        let check = |wrapped: &str, texts: &[&str]| {
            let blocks: Vec<_> = texts
                .iter()
                .map(|text| serde_json::json!({ "type": "text", "text": text }).to_string())
                .collect();
            value(&format!(
                r#"{{"structuredContent":{{"result":{wrapped}}},"content":[{}]}}"#,
                blocks.join(",")
            ))
        };
        assert_eq!(check(r#"[1, {"a":2}]"#, &["1", "{\n \"a\": 2}"]), r#"json [1, {"a":2}]"#);
        assert_eq!(check("[]", &[]), "json []");
        assert_eq!(check("null", &[]), "nothing");
        assert_eq!(check("[1,2]", &["1"]), r#"json {"result":[1,2]}"#);
        assert_eq!(check("[1,2]", &["1", "3"]), r#"json {"result":[1,2]}"#);
    }

    #[test]
    fn other_blocks_come_as_they_are() {
        let image = r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#;
        let text = r#"{"type":"text","text":"a\nb"}"#;
        assert_eq!(value(&format!(r#"{{"content":[{image}]}}"#)), format!("json {image}"));
        assert_eq!(
            value(&format!(r#"{{"content":[{text},{image}]}}"#)),
            format!(r#"json ["a\nb",{image}]"#)
        );
        assert_eq!(
            value(&format!(r#"{{"content":[{image},{image}]}}"#)),
            format!("json [{image},{image}]")
        );
        assert_eq!(value(r#"{"content":[{"kind":1}]}"#), r#"json {"kind":1}"#);
        let odd = r#"{"type":{"text":null},"text":"x"}"#;
        assert_eq!(value(&format!(r#"{{"content":[{odd}]}}"#)), format!("json {odd}"));
    }

    #[test]
    fn errors_speak_in_the_words_of_the_server() {
        let text = r#"{"type":"text","text":"no such city"}"#;
        let image = r#"{"type":"image","data":""}"#;
        assert_eq!(
            value(&format!(r#"{{"isError":true,"content":[{image},{text}]}}"#)),
            "error no such city"
        );
        assert_eq!(
            value(r#"{"isError":true,"content":[],"structuredContent":{"code":7}}"#),
            r#"error {"code":7}"#
        );
        assert_eq!(
            value(r#"{"isError":true}"#),
            "error the tool reported an error without a message"
        );
    }

    #[test]
    fn old_servers_answer_with_a_tool_result() {
        assert_eq!(value(r#"{"toolResult":{"a":1}}"#), r#"json {"a":1}"#);
    }

    #[test]
    fn a_question_of_the_tool_is_an_error() {
        assert_eq!(
            value(r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#),
            "error the tool asks for more input, which onecall cannot give"
        );
        assert_eq!(value(r#"{"resultType":"complete","content":[]}"#), "nothing");
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for broken in [
            "null",
            "[]",
            "\"text\"",
            r#"{"content":"text"}"#,
            r#"{"content":["text"]}"#,
            r#"{"content":[["text","x"]]}"#,
            r#"{"content":[{"type":"text"}]}"#,
            r#"{"content":[{"type":"text","text":5}]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"isError":"yes"}"#,
        ] {
            let message = value(broken);
            assert!(
                message.starts_with("error the server sent a result that is not valid: "),
                "{broken}: {message}"
            );
        }
    }
}
