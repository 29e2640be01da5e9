//! The answer of a plan's target tool, cut to the output limit.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::report::TRUNCATION_MARK;

/// Bytes of an image or audio block that is passed on; a larger one is left out as a whole, because
/// a part of it would be useless.
const MAX_BLOCK_BYTES: usize = 8 * 1024 * 1024;

/// What the target of a plan answered: content blocks and structured content, as its
/// server sent them.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanAnswer {
    /// MCP content blocks.
    pub content: Vec<Value>,
    /// The structured content of the result, if the server sent any.
    pub structured: Option<Value>,
}

impl PlanAnswer {
    /// Takes over the result of `tools/call`, with at most `limit` bytes of text.
    pub(crate) fn new(result: &RawValue, limit: usize) -> Self {
        let mut result: Value = serde_json::from_str(result.get()).unwrap_or_default();
        let blocks = match result.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            _ => Vec::new(),
        };
        let mut room = limit;
        let content = blocks.into_iter().map(|block| cut_block(block, &mut room)).collect();
        let structured = result.get_mut("structuredContent").map(Value::take);
        let structured = structured.filter(|value| value.to_string().len() <= limit);
        Self { content, structured }
    }
}

/// The block with its text cut to the remaining `room`, which shrinks by that much.
fn cut_block(mut block: Value, room: &mut usize) -> Value {
    let Some(Value::String(text)) = block.get_mut("text") else {
        let size = block.to_string().len();
        if size <= MAX_BLOCK_BYTES {
            return block;
        }
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("content");
        return json!({ "type": "text", "text": format!("({kind} of {size} bytes left out)") });
    };
    if text.len() <= *room {
        *room -= text.len();
    } else {
        text.truncate(text.floor_char_boundary(*room));
        text.push_str(TRUNCATION_MARK);
        *room = 0;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(result: &Value, limit: usize) -> PlanAnswer {
        let raw = serde_json::value::to_raw_value(result).unwrap_or_default();
        PlanAnswer::new(&raw, limit)
    }

    #[test]
    fn an_answer_passes_as_it_is() {
        let result = json!({
            "content": [
                { "type": "text", "text": "ok", "annotations": { "priority": 1 } },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            ],
            "structuredContent": { "rows": [1] },
        });
        let answer = answer(&result, 20);
        assert_eq!(json!(answer.content), result["content"]);
        assert_eq!(answer.structured, Some(json!({ "rows": [1] })));
    }

    #[test]
    fn text_over_the_limit_is_cut_on_a_character_boundary() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let result = json!({
            "content": [text("aé"), text("éb"), text("c")],
            "structuredContent": { "long": "enough to be over the limit" },
        });
        let answer = answer(&result, 4);
        let cut = [text("aé"), text("\n... (truncated)"), text("\n... (truncated)")];
        assert_eq!((answer.content.as_slice(), answer.structured), (&cut[..], None));
    }
}
