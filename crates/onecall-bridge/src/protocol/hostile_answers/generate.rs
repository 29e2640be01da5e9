//! Values, results and messages that are valid, or nearly.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Any JSON value, not too deep.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4_i64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // With few digits: the tests compare what a parser made of it.
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        string().prop_map(Value::from),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let known = select(
        &["", "text", "result", "id", "null", "5", "[1]", "\"id\":7}", "a\nb", "é\u{2028}"][..],
    );
    prop_oneof![
        2 => "[a-z ]{0,8}",
        2 => known.prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&["result", "id", "type", "text", "a"][..]).prop_map(str::to_owned),
        string()
    ]
}

/// JSON text with numbers of any size and spelling, which no parser may touch.
pub(crate) fn exact_json() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?";
    let leaf =
        prop_oneof![2 => number, 1 => string().prop_map(|text| Value::from(text).to_string())];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(" , "))),
            vec(inner, 0..4).prop_map(|items| {
                let entries: Vec<_> = items.iter().map(|item| format!("\"k\" :{item}")).collect();
                format!("{{ {}}}", entries.join(","))
            }),
        ]
    })
}

/// `value` as one of the ways servers write it.
pub(crate) fn written(value: &Value, style: Index) -> String {
    let compact = value.to_string();
    match style.index(4) {
        0 => compact,
        1 => format!("{value:#}"),
        2 => spaced(&compact),
        _ => escaped(&compact),
    }
}

/// With a space after each comma and colon, as Python writes it.
fn spaced(json: &str) -> String {
    let mut inside = false;
    let mut after_backslash = false;
    let mut out = String::new();
    for character in json.chars() {
        out.push(character);
        if character == '"' && !after_backslash {
            inside = !inside;
        }
        after_backslash = character == '\\' && !after_backslash;
        if !inside && matches!(character, ',' | ':') {
            out.push(' ');
        }
    }
    out
}

/// In ASCII alone.
fn escaped(json: &str) -> String {
    let mut units = [0; 2];
    let escape = |character: char| -> String {
        if character.is_ascii() {
            return character.into();
        }
        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars().map(escape).collect()
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block() -> impl Strategy<Value = Value> {
    let kind = select(&["image", "audio", "resource", "resource_link", "text", "Text", ""][..]);
    prop_oneof![
        6 => string().prop_map(|text| text_block(&text)),
        2 => (kind, json()).prop_map(|(kind, data)| json!({ "type": kind, "data": data, "text": 1 })),
        1 => (string(), json()).prop_map(|(text, meta)| {
            json!({ "_meta": meta, "text": text, "annotations": {}, "type": "text" })
        }),
        1 => json(),
        1 => string().prop_map(|text| json!(["text", text])),
        1 => string().prop_map(|text| json!({ "type": { "text": null }, "text": text })),
    ]
}

/// A value as a framework would send it: wrapped, and as text; or with another's text.
fn wrapped() -> impl Strategy<Value = (Value, Vec<Value>)> {
    let is_more = prop_oneof![6 => Just(false), 1 => Just(true)];
    let parts = (json(), json(), 0..6_u8, any::<Index>(), is_more);
    parts.prop_map(|(value, other, form, style, is_more)| {
        let plain = |value: &Value| match value {
            Value::String(text) => text.clone(),
            value => written(value, style),
        };
        let texts = match (form, &value) {
            (0, Value::Array(items)) => items.iter().map(plain).collect(),
            (0 | 1, value) => vec![plain(value)],
            (2, value) => vec![written(value, style)],
            (3, Value::Null) => vec![],
            (3, value) => plain(value).split('\n').map(str::to_owned).collect(),
            _ => vec![plain(&other)],
        };
        let mut structured = json!({ "result": value });
        if is_more {
            structured["more"] = other;
        }
        (structured, texts.iter().map(|text| text_block(text)).collect())
    })
}

/// A result of `tools/call`, or nearly one.
pub(crate) fn result() -> impl Strategy<Value = Value> {
    let blocks = || vec(block(), 0..4);
    let content = prop_oneof![
        6 => (option::of(json()), blocks()),
        6 => wrapped().prop_map(|(structured, blocks)| (Some(structured), blocks)),
        2 => (wrapped(), blocks()).prop_map(|((structured, _), blocks)| (Some(structured), blocks)),
    ];
    let is_error = prop_oneof![
        6 => Just(None),
        3 => any::<bool>().prop_map(|is_error| Some(Value::from(is_error))),
        1 => json().prop_map(Some),
    ];
    let unusual = prop_oneof![
        12 => Just(None),
        1 => json().prop_map(|content| Some(("content", content))),
        1 => json().prop_map(|value| Some(("toolResult", value))),
        1 => json().prop_map(|value| Some(("_meta", value))),
    ];
    let fields =
        (content, is_error, unusual).prop_map(|((structured, blocks), is_error, unusual)| {
            let mut fields = Map::new();
            if !blocks.is_empty() || is_error.is_some() {
                fields.insert("content".to_owned(), Value::Array(blocks));
            }
            fields.extend(structured.map(|value| ("structuredContent".to_owned(), value)));
            fields.extend(is_error.map(|value| ("isError".to_owned(), value)));
            fields.extend(unusual.map(|(key, value)| (key.to_owned(), value)));
            fields.into_iter().collect::<Vec<_>>()
        });
    let object = fields
        .prop_flat_map(|fields| Just(fields).prop_shuffle())
        .prop_map(|fields| Value::Object(fields.into_iter().collect()));
    prop_oneof![20 => object, 1 => json()]
}

/// What a line says.
#[derive(Clone, Debug)]
pub(crate) enum MessageKind {
    Answer { id: u64, result: Result<String, (i64, String)> },
    Request { id: String, method: String },
    Notification { method: String },
}

/// A message and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedMessage {
    pub(crate) kind: MessageKind,
    /// Keys and values in their order.
    fields: Vec<(&'static str, String)>,
    space: &'static str,
}

impl GeneratedMessage {
    pub(crate) fn line(&self) -> String {
        let space = self.space;
        let entries: Vec<_> = self
            .fields
            .iter()
            .map(|(key, value)| format!("{space}\"{key}\"{space}:{space}{value}{space}"))
            .collect();
        format!("{space}{{{}}}{space}", entries.join(","))
    }
}

/// Any message of a server.
pub(crate) fn message() -> impl Strategy<Value = GeneratedMessage> {
    // Some hold what could be taken for the id of the message.
    let value = prop_oneof![4 => json(), 1 => (0..8_u64).prop_map(|id| json!({ "id": id }))];
    let value = (value, any::<Index>()).prop_map(|(value, style)| {
        // A line has no line breaks inside.
        written(&value, style).replace('\n', " ")
    });
    let value = || value.clone();
    let method = || {
        prop_oneof![
            "[a-z/]{1,20}",
            Just("ping".to_owned()),
            Just("notifications/tools/list_changed".to_owned()),
            any::<String>(),
        ]
    };
    let request_id = prop_oneof![
        (0..4_u64).prop_map(|id| id.to_string()),
        any::<i64>().prop_map(|id| id.to_string()),
        string().prop_map(|id| Value::from(id).to_string()),
    ];
    let answer = (0..8_u64, any::<bool>(), value()).prop_map(|(id, quoted, result)| {
        let written = if quoted { format!("\"{id}\"") } else { id.to_string() };
        let fields = vec![("id", written), ("result", result.clone())];
        (MessageKind::Answer { id, result: Ok(result) }, fields)
    });
    let error = (0..8_u64, any::<i64>(), string()).prop_map(|(id, code, message)| {
        let body = json!({ "code": code, "message": message, "data": { "id": 7 } });
        let fields = vec![("id", id.to_string()), ("error", body.to_string())];
        (MessageKind::Answer { id, result: Err((code, message)) }, fields)
    });
    let request = (request_id, method(), value()).prop_map(|(id, method, params)| {
        let written = Value::from(method.as_str()).to_string();
        let fields = vec![("id", id.clone()), ("method", written), ("params", params)];
        (MessageKind::Request { id, method }, fields)
    });
    let notification = (method(), value()).prop_map(|(method, params)| {
        let written = Value::from(method.as_str()).to_string();
        (MessageKind::Notification { method }, vec![("method", written), ("params", params)])
    });
    let space = select(&["", "", " ", "\t \r"][..]);
    let message = (prop_oneof![3 => answer, 1 => error, 1 => request, 1 => notification], space);
    message.prop_flat_map(|((kind, mut fields), space)| {
        fields.push(("jsonrpc", "\"2.0\"".to_owned()));
        let kind = Just(kind);
        (kind, Just(fields).prop_shuffle(), Just(space))
            .prop_map(|(kind, fields, space)| GeneratedMessage { kind, fields, space })
    })
}
