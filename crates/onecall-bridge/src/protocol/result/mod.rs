//! Converts a tool's answer into the value that a program gets. Every kind of call uses this
//! module; `docs/values.md` describes the rules. Text and structured content stay text; only the
//! program parses them.

mod read;
#[cfg(test)]
mod tests;
mod undeclared;

use onecall_core::{OutputForm, ToolValue};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;

use crate::error::RequestError;
use crate::protocol::reply::Reply;
use read::{Block, Content, InvalidResult, read};

/// The value of an answer, and whether the answer violates the tool's schema.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub value: ToolValue,
    /// Whether the tool declares `{"result": …}` and sent something else.
    pub breaks_schema: bool,
}

/// Why an answer has no value. The display text is what the program reads.
#[derive(Debug, Error)]
pub(crate) enum ResultError {
    #[error("the server sent a result that is not valid: {0}")]
    Invalid(#[from] InvalidResult),
    #[error("the tool asks for more input, which onecall cannot give")]
    AsksForInput,
    /// The tool reports an error with this message.
    #[error("{0}")]
    ToolFailed(String),
    #[error(transparent)]
    TooLarge(RequestError),
}

impl From<ToolValue> for Decoded {
    fn from(value: ToolValue) -> Self {
        Self { value, breaks_schema: false }
    }
}

/// The object in which the Python SDKs wrap a value that is not an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

/// Converts the result of `tools/call` into a value, or into the error that the program gets.
/// `output` is the form that the tool's output schema declares, if it has one.
pub(crate) fn tool_value(
    reply: Reply<'_>,
    output: Option<OutputForm>,
) -> Result<Decoded, ResultError> {
    let (result, content) = read(reply.result)?;
    if result.result_type.is_some_and(|kind| kind.get() == r#""input_required""#) {
        return Err(ResultError::AsksForInput);
    }
    if result.is_error == Some(true) {
        let message = error_message(reply, content.blocks, result.structured_content);
        return Err(ResultError::ToolFailed(message));
    }
    let others = content.has_others().then(|| blocks_as_json(reply, &content.sent));
    let mut breaks_schema = output.is_some_and(|form| form != OutputForm::Plain);
    let value = match (result.structured_content, output) {
        (Some(structured), None) => undeclared::structured_value(reply, structured, content.blocks),
        (Some(structured), Some(OutputForm::Plain)) => reply.value(structured),
        (Some(structured), Some(_)) => match wrapped_value(structured) {
            Some(value) => {
                breaks_schema = false;
                reply.value(value)
            }
            None => reply.value(structured),
        },
        (None, Some(OutputForm::WrappedText)) if content.has_text() => string(content.blocks),
        (None, _) if !content.has_text() => {
            let value = other_value(reply, &content, result.tool_result);
            return Ok(Decoded { value, breaks_schema });
        }
        (None, _) => joined_text(content.blocks).map_or(ToolValue::Nothing, ToolValue::Text),
    };
    let value = match others {
        None => value,
        Some(content) => ToolValue::WithContent { value: Box::new(value), content },
    };
    Ok(Decoded { value, breaks_schema })
}

/// The complete answer as JSON, or the error that the program gets.
pub(crate) fn whole_answer(reply: Reply<'_>) -> Result<Decoded, ResultError> {
    tool_value(reply, None)?;
    Ok(ToolValue::Json(reply.json(reply.result).into_owned()).into())
}

/// The complete answer as JSON, even if the tool reports an error in it.
pub(crate) fn untouched(reply: Reply<'_>) -> Result<Decoded, ResultError> {
    let failed = read(reply.result).is_ok_and(|(result, _)| result.is_error == Some(true));
    if !failed {
        return whole_answer(reply);
    }
    Ok(ToolValue::Json(reply.json(reply.result).into_owned()).into())
}

/// The `v` of `{"result": v}`.
fn wrapped_value(structured: &RawValue) -> Option<&RawValue> {
    let json = structured.get();
    let wrapped = serde_json::from_str::<Wrapped<'_>>(json.starts_with('{').then_some(json)?);
    wrapped.ok().map(|wrapped| wrapped.result)
}

/// The text of an answer whose tool declares a string: it stays a string even if it looks like
/// JSON.
fn string(blocks: Vec<Block>) -> ToolValue {
    let text = joined_text(blocks).unwrap_or_default();
    to_raw_value(&text).map_or(ToolValue::Text(text), ToolValue::Json)
}

/// The value of an answer with neither structured content nor text: nothing, the single block, or a
/// list of the blocks.
fn other_value(
    reply: Reply<'_>,
    content: &Content<'_>,
    tool_result: Option<&RawValue>,
) -> ToolValue {
    match (&*content.sent, tool_result) {
        ([], Some(value)) => reply.value(value),
        ([], None) => ToolValue::Nothing,
        ([block], _) => ToolValue::Json(reply.json(block).into_owned()),
        (blocks, _) => ToolValue::Json(blocks_as_json(reply, blocks)),
    }
}

/// Content blocks as a JSON array.
fn blocks_as_json(reply: Reply<'_>, blocks: &[&RawValue]) -> Box<RawValue> {
    let blocks: Vec<_> = blocks.iter().map(|block| reply.json(block)).collect();
    // Serializing values that are already JSON cannot fail.
    to_raw_value(&blocks).unwrap_or_default()
}

/// The text of all text blocks, joined by newlines; `None` if there is no text block.
fn joined_text(blocks: Vec<Block>) -> Option<String> {
    let texts = blocks.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Other => None,
    });
    texts.reduce(|mut joined, text| {
        joined.push('\n');
        joined.push_str(&text);
        joined
    })
}

fn error_message(reply: Reply<'_>, blocks: Vec<Block>, structured: Option<&RawValue>) -> String {
    joined_text(blocks)
        .filter(|text| !text.trim().is_empty())
        .or_else(|| structured.map(|it| reply.nonfinite(it).unwrap_or(it.get()).to_owned()))
        .unwrap_or_else(|| "the tool reported an error without a message".to_owned())
}
