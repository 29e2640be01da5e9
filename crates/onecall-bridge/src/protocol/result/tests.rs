use serde_json::json;

use super::*;

/// The value of an answer of a tool with this declared form, in short.
fn declared(form: OutputForm, result: &str) -> String {
    let result = RawValue::from_string(result.to_owned()).unwrap();
    let decoded = tool_value(Reply::new(&result, None), Some(form)).unwrap();
    let remark = if decoded.breaks_schema { " (breaks the schema)" } else { "" };
    shown(Ok(decoded)) + remark
}

fn shown(decoded: Result<Decoded, ResultError>) -> String {
    match decoded.map(|decoded| decoded.value) {
        Ok(ToolValue::Nothing) => "nothing".to_owned(),
        Ok(ToolValue::Json(json)) => format!("json {json}"),
        Ok(ToolValue::Text(text)) => format!("text {text}"),
        Ok(ToolValue::WithContent { value, content }) => {
            format!("{} with {content}", shown(Ok((*value).into())))
        }
        Err(message) => format!("error {message}"),
    }
}

/// The value of an answer of a tool that declares nothing, in short.
fn value(result: &str) -> String {
    let result = RawValue::from_string(result.to_owned()).unwrap();
    shown(tool_value(Reply::new(&result, None), None))
}

#[test]
fn text_is_joined() {
    assert_eq!(value(r#"{"content":[{"type":"text","text":"a \"b\""}]}"#), "text a \"b\"");
    assert_eq!(
        value(r#"{"content":[{"type":"text","text":"a"},{"text":"b","type":"text","_meta":{}}]}"#),
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
        let blocks: Vec<_> =
            texts.iter().map(|text| json!({ "type": "text", "text": text }).to_string()).collect();
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
        format!("text a\nb with [{text},{image}]")
    );
    assert_eq!(
        value(&format!(r#"{{"content":[{image},{image}]}}"#)),
        format!("json [{image},{image}]")
    );
    assert_eq!(
        value(&format!(r#"{{"content":[{image},{text},{text}]}}"#)),
        format!("text a\nb\na\nb with [{image},{text},{text}]")
    );
    let structured = format!(r#"{{"content":[{text},{image}],"structuredContent":{{"a":1}}}}"#);
    assert_eq!(value(&structured), format!(r#"json {{"a":1}} with [{text},{image}]"#));
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
    assert_eq!(value(r#"{"isError":true}"#), "error the tool reported an error without a message");
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

#[test]
fn a_declared_wrapper_is_unwrapped_whatever_the_text_is() {
    let wrapped = |value: &str, text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        declared(
            OutputForm::Wrapped,
            &format!(r#"{{"structuredContent":{{"result":{value}}},"content":{content}}}"#),
        )
    };
    assert_eq!(wrapped("[[1],[2]]", "1"), "json [[1],[2]]");
    assert_eq!(wrapped(r#""[1, 2]""#, "[1, 2]"), r#"json "[1, 2]""#);
    assert_eq!(wrapped("[1,null]", "1"), "json [1,null]");
    assert_eq!(wrapped("null", "null"), "json null");
    let image = r#"{"type":"image","data":""}"#;
    let beside = format!(r#"{{"structuredContent":{{"result":"5"}},"content":[{image}]}}"#);
    let text = declared(OutputForm::WrappedText, &beside);
    assert_eq!(text, format!(r#"json "5" with [{image}]"#));
    let empty = r#"{"structuredContent":{"result":[]},"content":[]}"#;
    assert_eq!(declared(OutputForm::Wrapped, empty), "json []");
    let own = r#"{"structuredContent":{"result":5},"content":[{"type":"text","text":"5"}]}"#;
    assert_eq!(declared(OutputForm::Plain, own), r#"json {"result":5}"#);
}

#[test]
fn content_that_is_not_what_a_wrapper_declares_is_given_as_sent() {
    let more = r#"{"structuredContent":{"result":1,"more":2},"content":[]}"#;
    let other = r#"{"structuredContent":[1],"content":[]}"#;
    let text = r#"{"content":[{"type":"text","text":"[1]"}]}"#;
    let none = r#"{"structuredContent":null,"content":[]}"#;
    for (form, result, expected) in [
        (OutputForm::Wrapped, more, r#"json {"result":1,"more":2} (breaks the schema)"#),
        (OutputForm::Wrapped, other, "json [1] (breaks the schema)"),
        (OutputForm::Wrapped, text, "text [1] (breaks the schema)"),
        (OutputForm::WrappedText, text, r#"json "[1]" (breaks the schema)"#),
        (OutputForm::WrappedText, none, "nothing (breaks the schema)"),
        (OutputForm::Plain, text, "text [1]"),
    ] {
        assert_eq!(declared(form, result), expected, "{result}");
    }
}

#[test]
fn numbers_that_json_lacks_stay_what_they_are() {
    let line = br#"{"structuredContent":{"result":[NaN,1,-Infinity],"a":"NaN"},"content":[]}"#;
    let repaired = crate::protocol::reply::repaired(line).unwrap();
    let original = crate::protocol::reply::Original::new(line, &repaired);
    let result: &RawValue = serde_json::from_str(&repaired).unwrap();
    let reply = Reply::new(result, original);
    let value = shown(tool_value(reply, Some(OutputForm::Plain)));
    assert_eq!(value, r#"text {"result":[NaN,1,-Infinity],"a":"NaN"}"#);
    assert_eq!(
        shown(whole_answer(reply)),
        r#"json {"structuredContent":{"result":[null,1,null],"a":"NaN"},"content":[]}"#
    );
}
