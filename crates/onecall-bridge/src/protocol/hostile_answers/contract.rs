//! The contract "Values" of the design, written a second time from its words alone:
//! over whole values, without a thought for speed.

use serde_json::Value;

/// What a result of `tools/call` means.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// The program gets this.
    Value(Value),
    /// The program meets an error with this message; any message if there is none.
    Failure(Option<String>),
    /// The server broke the protocol.
    Invalid,
}

pub(crate) fn meaning(result: &Value) -> Meaning {
    let Some(fields) = result.as_object() else { return Meaning::Invalid };
    let given = |key: &str| fields.get(key).filter(|value| !value.is_null());
    let blocks: &[Value] = match given("content") {
        None => &[],
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return Meaning::Invalid,
    };
    let is_text = |block: &Value| block["type"] == "text";
    let is_valid =
        |block: &Value| block.is_object() && (!is_text(block) || block["text"].is_string());
    if !blocks.iter().all(is_valid) {
        return Meaning::Invalid;
    }
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| is_text(block))
        .filter_map(|block| block["text"].as_str())
        .collect();
    let structured = given("structuredContent");
    match given("isError") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            let text = Some(texts.join("\n")).filter(|text| !text.trim().is_empty());
            return Meaning::Failure(text);
        }
        Some(_) => return Meaning::Invalid,
    }
    Meaning::Value(match structured {
        Some(structured) => {
            wrapped(structured, blocks.len(), &texts).unwrap_or_else(|| structured.clone())
        }
        None if blocks.is_empty() => given("toolResult").cloned().unwrap_or_default(),
        None if !texts.is_empty() => parsed(&texts.join("\n")),
        None => match blocks {
            [block] => block.clone(),
            blocks => Value::from(blocks.to_vec()),
        },
    })
}

/// The value of `{"result": v}` if the content says the same as `v`.
fn wrapped(structured: &Value, blocks: usize, texts: &[&str]) -> Option<Value> {
    let fields = structured.as_object().filter(|fields| fields.len() == 1)?;
    let value = fields.get("result")?;
    // A framework writes nothing for null, and a list as its items.
    if value.is_null() && blocks == 0 {
        return Some(Value::Null);
    }
    if let Some(items) = value.as_array()
        && items.len() == blocks
        && texts.len() == blocks
        && items.iter().zip(texts).all(|(item, text)| is_text_of(item, text))
    {
        return Some(value.clone());
    }
    let text = texts.join("\n");
    (!texts.is_empty() && is_text_of(value, &text)).then(|| parsed(&text))
}

fn is_text_of(value: &Value, text: &str) -> bool {
    value == text || serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *value)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
