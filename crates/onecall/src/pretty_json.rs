//! Formats a JSON value for a person: on one line if it fits, otherwise indented, with short items
//! side by side.

use std::fmt::Write;

use serde_json::Value;

const WIDTH: usize = 80;

/// The most lines that are shown.
const MAX_LINES: usize = 1_000;

/// JSON as text that ends with a line break. A string of several lines is printed unchanged, and so
/// is JSON that cannot be parsed without losing precision.
pub(crate) fn pretty_json(json: &str) -> String {
    let Some(value) = serde_json::from_str(json).ok().filter(|_| !has_long_number(json)) else {
        return format!("{}\n", json.trim_end());
    };
    let mut text = String::new();
    match &value {
        Value::String(lines) if lines.contains('\n') => text.push_str(lines.trim_end()),
        _ => write(&value, 0, &mut text),
    }
    let count = text.lines().count();
    let mut kept: String = text.lines().take(MAX_LINES).flat_map(|line| [line, "\n"]).collect();
    if count > MAX_LINES {
        _ = writeln!(kept, "… {} more lines", count - MAX_LINES);
    }
    kept
}

/// Whether the text may contain a number that a float cannot represent exactly.
fn has_long_number(json: &str) -> bool {
    json.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() > 15)
}

fn write(value: &Value, indent: usize, text: &mut String) {
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count();
    let line = value.to_string();
    if column + line.chars().count() <= WIDTH {
        text.push_str(&spaced(value));
        return;
    }
    match value {
        Value::Array(items) if items.iter().all(is_plain) => {
            write_side_by_side(items, indent, text)
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                begin_line(at, indent + 2, text);
                write(item, indent + 2, text);
            }
            end(']', indent, text);
        }
        Value::Object(entries) => {
            text.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                begin_line(at, indent + 2, text);
                _ = write!(text, "{}: ", Value::String(key.clone()));
                write(value, indent + 2, text);
            }
            end('}', indent, text);
        }
        _ => text.push_str(&line),
    }
}

fn write_side_by_side(items: &[Value], indent: usize, text: &mut String) {
    text.push('[');
    let mut column = usize::MAX;
    for (at, item) in items.iter().enumerate() {
        let item = item.to_string();
        let width = item.chars().count() + 2;
        if column.saturating_add(width) > WIDTH {
            begin_line(at, indent + 2, text);
            column = indent + 2;
        } else {
            text.push_str(", ");
        }
        text.push_str(&item);
        column += width;
    }
    end(']', indent, text);
}

fn begin_line(at: usize, indent: usize, text: &mut String) {
    if at > 0 {
        text.push(',');
    }
    _ = write!(text, "\n{:indent$}", "");
}

fn end(bracket: char, indent: usize, text: &mut String) {
    _ = write!(text, "\n{:indent$}{bracket}", "");
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// On one line, with spaces after commas and colons.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(spaced).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::String(key.clone()), spaced(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::pretty_json;

    #[test]
    fn short_and_long_values() {
        let value = json!({
            "id": 7,
            "point": { "x": 1.5, "y": [true, null] },
            "numbers": (0..40).collect::<Vec<u32>>(),
            "rows": [{ "name": "Ada", "note": "x".repeat(60) }, { "name": "Bo" }],
        });
        assert_snapshot!(pretty_json(&value.to_string()), @r#"
        {
          "id": 7,
          "point": {"x": 1.5, "y": [true, null]},
          "numbers": [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
            21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39
          ],
          "rows": [
            {
              "name": "Ada",
              "note": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            },
            {"name": "Bo"}
          ]
        }
        "#);
        assert_eq!(pretty_json(r#"[1,{"a":"b"}]"#), "[1, {\"a\": \"b\"}]\n");
        assert_eq!(pretty_json("\"two\\nlines\""), "two\nlines\n");
        assert_eq!(pretty_json("[12345678901234567890123]"), "[12345678901234567890123]\n");
        assert_eq!(pretty_json("no JSON\n"), "no JSON\n");
    }
}
