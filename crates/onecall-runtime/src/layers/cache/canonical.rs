//! Normalises JSON arguments, so that equal arguments give equal text.

use std::ops::Range;

/// Arguments nested deeper than this are not normalised, and their answers are not cached.
const MAX_DEPTH: usize = 64;

/// Normalises a valid JSON document: the members of every object are sorted, and white space is
/// removed. `None` if the document is nested too deeply. Numbers and strings stay as they are
/// written, so different values never become equal: `1` and `1.0` are different arguments, and so
/// are integers that a float could not tell apart.
pub(super) fn canonical(json: &str) -> Option<String> {
    // Most documents are sorted already, and are written without a list of their members.
    CanonicalWriter::default()
        .write(json)
        .or_else(|| CanonicalWriter { sorts: true, ..CanonicalWriter::default() }.write(json))
}

#[derive(Default)]
struct CanonicalWriter {
    /// Whether members are sorted. If not, an object that is out of order gives no text.
    sorts: bool,
    text: String,
}

impl CanonicalWriter {
    fn write(mut self, json: &str) -> Option<String> {
        let mut rest = json.trim_ascii_start();
        self.text.reserve(json.len());
        self.take_value(&mut rest, 0)?;
        Some(self.text)
    }

    fn take_value(&mut self, rest: &mut &str, depth: usize) -> Option<()> {
        match rest.as_bytes().first()? {
            b'{' => self.take_object(rest, depth + 1),
            b'[' => self.take_array(rest, depth + 1),
            b'"' => {
                self.text.push_str(take_string(rest)?);
                Some(())
            }
            _ => {
                let ends = |it: char| matches!(it, ',' | ']' | '}') || it.is_ascii_whitespace();
                let (scalar, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
                self.text.push_str(scalar);
                *rest = after;
                (!scalar.is_empty()).then_some(())
            }
        }
    }

    fn take_object(&mut self, rest: &mut &str, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        skip(rest);
        self.text.push('{');
        let start = self.text.len();
        let mut last = "";
        let mut members: Vec<(&str, Range<usize>)> = Vec::new();
        while !rest.starts_with('}') {
            if self.text.len() > start {
                self.text.push(',');
            }
            let (name, begin) = (take_string(rest)?, self.text.len());
            if !self.sorts && name < last {
                return None;
            }
            last = name;
            self.text.push_str(name);
            self.text.push(':');
            skip_space(rest);
            skip(rest);
            self.take_value(rest, depth)?;
            if self.sorts {
                members.push((name, begin..self.text.len()));
            }
            skip_space(rest);
            if rest.starts_with(',') {
                skip(rest);
            }
        }
        skip_one(rest);
        if self.sorts {
            // The sort must be stable: the order of members with equal names has a meaning.
            members.sort_by_key(|(name, _)| *name);
            let sorted: Vec<_> =
                members.into_iter().filter_map(|(_, member)| self.text.get(member)).collect();
            let sorted = sorted.join(",");
            self.text.truncate(start);
            self.text.push_str(&sorted);
        }
        self.text.push('}');
        Some(())
    }

    fn take_array(&mut self, rest: &mut &str, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        skip(rest);
        self.text.push('[');
        while !rest.starts_with(']') {
            self.take_value(rest, depth)?;
            skip_space(rest);
            if rest.starts_with(',') {
                self.text.push(',');
                skip(rest);
            }
        }
        skip_one(rest);
        self.text.push(']');
        Some(())
    }
}

/// Takes a string, including its quotes, from the beginning of `rest`.
fn take_string<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let bytes = rest.as_bytes();
    let mut end = 1;
    loop {
        match bytes.get(end)? {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    let (string, after) = rest.split_at_checked(end + 1)?;
    *rest = after;
    Some(string)
}

/// Skips a character of one byte.
fn skip_one(rest: &mut &str) {
    *rest = rest.get(1..).unwrap_or_default();
}

fn skip_space(rest: &mut &str) {
    *rest = rest.trim_ascii_start();
}

fn skip(rest: &mut &str) {
    skip_one(rest);
    skip_space(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn order_and_space_do_not_count() {
        let cases = [
            ("{}", "{}"),
            (" { } ", "{}"),
            (r#"{"b":1,"a":[ ]}"#, r#"{"a":[],"b":1}"#),
            (
                "{ \"b\" : { \"y\" : [ 1 , {\"d\":2,\"c\":1} ] , \"x\" : null } , \"a\" : \"b, }\" }",
                r#"{"a":"b, }","b":{"x":null,"y":[1,{"c":1,"d":2}]}}"#,
            ),
            (r#"{"b\"":1,"a\\":"é\\"}"#, r#"{"a\\":"é\\","b\"":1}"#),
            (r#"{"a":2,"a":1}"#, r#"{"a":2,"a":1}"#),
        ];
        for (json, expected) in cases {
            assert_eq!(canonical(json).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        let json = r#"{"n":[123456789012345678901234567890,1.0,1,1e2,-0,0.1000000000000000055]}"#;
        assert_eq!(canonical(json).as_deref(), Some(json));
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(canonical(&nested(MAX_DEPTH)).is_some());
        assert_eq!(canonical(&nested(1_000_000)), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect(),
            Value::Object(members) => Value::Object(
                members.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn what_is_equal_has_one_text_and_what_differs_another(a in any_json(), b in any_json()) {
            let text = |value: &Value| canonical(&value.to_string()).unwrap();
            prop_assert_eq!(text(&a), text(&reversed(&a)));
            prop_assert_eq!(serde_json::from_str::<Value>(&text(&a)).unwrap(), a.clone());
            prop_assert_eq!(canonical(&format!("{a:#}")), Some(text(&a)));
            prop_assert_eq!(a == b, text(&a) == text(&b));
        }

        #[test]
        fn text_that_is_no_json_ends_too(json in ".*") {
            // The result is unspecified; the function only has to return.
            let _ = canonical(&json);
        }
    }
}
