//! Structured content of a tool that declares no output schema. Frameworks wrap a value that is not
//! an object as `{"result": value}`; only the text blocks show whether that is a wrapper or a plain
//! object.

use onecall_core::ToolValue;
use serde_json::Value;
use serde_json::value::RawValue;

use super::read::Block;
use super::{joined_text, wrapped_value};
use crate::protocol::reply::Reply;

/// The value of structured content: the wrapped value if the text blocks represent the same value,
/// otherwise the whole object.
pub(super) fn structured_value(
    reply: Reply<'_>,
    structured: &RawValue,
    blocks: Vec<Block>,
) -> ToolValue {
    let Some(value) = wrapped_value(structured) else { return reply.value(structured) };
    // A wrapped list is sent as one text block per item, and null as no block. Both represent the
    // value, just as the digits of a number do.
    if value.get() == "null" && blocks.is_empty() {
        return ToolValue::Nothing;
    }
    if are_texts_of_items(reply, value, &blocks) {
        return reply.value(value);
    }
    match joined_text(blocks) {
        Some(text) if is_text_of(reply, value, &text) => ToolValue::Text(text),
        _ => reply.value(structured),
    }
}

/// Whether `value` is a list and `blocks` are the texts of its items, in order.
fn are_texts_of_items(reply: Reply<'_>, value: &RawValue, blocks: &[Block]) -> bool {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else { return false };
    items.len() == blocks.len()
        && items.iter().zip(blocks).all(|(item, block)| match block {
            Block::Text(text) => is_text_of(reply, item, text),
            Block::Other => false,
        })
}

/// Whether `text` is how a server would write `value` as text.
fn is_text_of(reply: Reply<'_>, value: &RawValue, text: &str) -> bool {
    let json = reply.nonfinite(value).unwrap_or(value.get());
    json == text
        || (json.starts_with('"') && serde_json::from_str(json).is_ok_and(|value: String| value == text))
        // If the first characters differ, so do the values, and no parsing is needed.
        || (json.as_bytes().first() == text.trim_ascii().as_bytes().first() && are_equal(json, text))
}

fn are_equal(left: &str, right: &str) -> bool {
    let parse = |json| serde_json::from_str::<Value>(json).ok();
    parse(left).is_some_and(|left| parse(right) == Some(left))
}
