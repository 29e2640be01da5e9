//! Parses the result of `tools/call`. A result that consists of text only, which is the usual case,
//! is parsed in one pass.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use thiserror::Error;

/// The result of `tools/call`. `C` is the type of its content.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "C: Deserialize<'de>"))]
pub(super) struct CallResult<'a, C> {
    content: Option<C>,
    #[serde(borrow)]
    pub(super) structured_content: Option<&'a RawValue>,
    pub(super) is_error: Option<bool>,
    /// Whether the server has finished or asks for input.
    #[serde(borrow)]
    pub(super) result_type: Option<&'a RawValue>,
    /// The field that servers used before the first released revision.
    #[serde(borrow)]
    pub(super) tool_result: Option<&'a RawValue>,
}

/// A text block. It must be an object: a derived implementation would also accept an array of the
/// fields in order.
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

/// One content block.
pub(super) enum Block {
    /// The text of a text block.
    Text(String),
    /// A block of any other kind.
    Other,
}

/// A parsed result and its content.
type Read<'a> = (CallResult<'a, ()>, Content<'a>);

/// The content of a result.
pub(super) struct Content<'a> {
    pub(super) blocks: Vec<Block>,
    /// The blocks as the server sent them; empty if all of them are text.
    pub(super) sent: Vec<&'a RawValue>,
}

impl Content<'_> {
    /// Whether there is a text block.
    pub(super) fn has_text(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Text(_)))
    }

    /// Whether there is a block of another kind.
    pub(super) fn has_others(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Other))
    }
}

/// Why a result is invalid.
#[derive(Debug, Error)]
pub(crate) enum InvalidResult {
    #[error("it is not an object")]
    NoObject,
    #[error("a content block is not an object")]
    BlockNoObject,
    #[error("a text block is broken: {0}")]
    BrokenText(serde_json::Error),
    #[error(transparent)]
    Unreadable(#[from] serde_json::Error),
}

pub(super) fn read(result: &RawValue) -> Result<Read<'_>, InvalidResult> {
    let json = result.get();
    if !json.starts_with('{') {
        // Serde would accept an array as the fields in order.
        return Err(InvalidResult::NoObject);
    }
    // Nearly every result is text alone, and then one pass is enough.
    if let Ok(mut result) = serde_json::from_str::<CallResult<'_, Vec<TextBlock>>>(json) {
        let texts = result.content.take().unwrap_or_default();
        let blocks = texts.into_iter().map(|block| Block::Text(block.text)).collect();
        return Ok((result.without_content(), Content { blocks, sent: Vec::new() }));
    }
    let mut result: CallResult<'_, Vec<&RawValue>> = serde_json::from_str(json)?;
    let sent = result.content.take().unwrap_or_default();
    let blocks = sent.iter().copied().map(block).collect::<Result<_, _>>()?;
    Ok((result.without_content(), Content { blocks, sent }))
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

fn block(raw: &RawValue) -> Result<Block, InvalidResult> {
    if !raw.get().starts_with('{') {
        return Err(InvalidResult::BlockNoObject);
    }
    match serde_json::from_str::<BlockKind<'_>>(raw.get()) {
        Ok(BlockKind { kind }) if kind == "text" => serde_json::from_str::<TextBlock>(raw.get())
            .map(|block| Block::Text(block.text))
            .map_err(InvalidResult::BrokenText),
        _ => Ok(Block::Other),
    }
}
