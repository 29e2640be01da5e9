//! Tables of databases, read row by row.

use serde_json::{Map, Value, json};

use super::calls::{CallResult, number, page, text};

/// Answers `describe_table` and `select_rows` for a table of these rows.
pub(super) fn call(tool: &str, arguments: &Value, name: &str, rows: Vec<Value>) -> CallResult {
    let table = text(arguments, "table")?;
    if table != name {
        return Err(format!("relation \"{table}\" does not exist"));
    }
    if tool == "describe_table" {
        let first = rows.first().and_then(Value::as_object);
        let columns: Vec<Value> =
            first.into_iter().flatten().map(|(name, value)| column(name, value)).collect();
        return Ok(json!({ "table": name, "columns": columns, "row_count": rows.len() }));
    }
    let conditions = arguments["where"].as_object().cloned().unwrap_or_default();
    let columns = arguments["columns"].as_array();
    let found: Vec<Value> = rows
        .into_iter()
        .filter(|row| conditions.iter().all(|(column, wanted)| row[column] == *wanted))
        .map(|row| match columns {
            None => row,
            Some(columns) => columns
                .iter()
                .filter_map(Value::as_str)
                .map(|column| (column.to_owned(), row[column].clone()))
                .collect::<Map<_, _>>()
                .into(),
        })
        .collect();
    page("rows", found.into_iter(), arguments, number(arguments, "limit", 100, 100))
}

fn column(name: &str, value: &Value) -> Value {
    let kind = match value {
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        _ => "text",
    };
    json!({ "name": name, "type": kind, "nullable": value.is_null() })
}
