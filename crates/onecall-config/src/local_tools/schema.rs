//! Reads the input schema of a local tool and checks its outer form: an object with named
//! properties. The schemas of the properties are passed on unchecked.

use onecall_core::nearest::nearest;
use serde_json::{Map, Number, Value, json};

use crate::document::{Node, Scalar, ScalarKind, Value as NodeValue};
use crate::error::{Problem, Report};
use crate::reader;

/// The schema of a tool without arguments.
pub(super) fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

/// Reads a schema; `what` is its name in messages.
pub(super) fn read_schema(node: &Node, what: &str, report: &mut Report) -> Option<Value> {
    let entries = reader::entries(node, what, report)?;
    let get = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| entry.value);
    if let Some(kind) = get("type")
        && !matches!(&kind.value, NodeValue::Scalar(scalar) if scalar.text == "object")
    {
        let message = format!("'type' in {what} must be object");
        let help = "a tool's arguments are an object; describe each under 'properties'";
        report.add(Problem::new(kind.at, message).with_help(help));
        return None;
    }
    let names = match get("properties") {
        Some(properties) => property_names(properties, what, report)?,
        None => Vec::new(),
    };
    if let Some(required) = get("required") {
        check_required(required, &names, what, report)?;
    }
    let Value::Object(mut schema) = json_of(node, what, report)? else { return None };
    // `type` comes first, where readers look for it.
    let mut ordered = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    ordered.append(&mut schema);
    ordered.entry("properties").or_insert_with(|| json!({}));
    Some(Value::Object(ordered))
}

fn property_names<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<Vec<&'n str>> {
    let what = format!("'properties' in {what}");
    let mut names = Vec::new();
    for property in reader::entries(node, &what, report)? {
        names.push(property.key);
        let is_schema = match &property.value.value {
            NodeValue::Mapping(_) => true,
            NodeValue::Scalar(scalar) => matches!(scalar.kind, ScalarKind::Boolean(_)),
            NodeValue::List(_) => false,
        };
        if !is_schema {
            let message = format!(
                "'{}' of {what} must be a mapping, not {}",
                property.key,
                property.value.describe()
            );
            let help = "describe it, for example as { type: string }";
            report.add(Problem::new(property.value.at, message).with_help(help));
            return None;
        }
    }
    Some(names)
}

fn check_required(node: &Node, names: &[&str], what: &str, report: &mut Report) -> Option<()> {
    let what = format!("'required' in {what}");
    for item in reader::list(node, &what, report)? {
        let name = reader::scalar_text(item, &format!("each of {what}"), report)?;
        if !names.contains(&name) {
            let problem =
                Problem::new(item.at, format!("{what} names something that is not a property"));
            report.add(match nearest(name, names.iter().copied()) {
                Some(nearest) => problem.with_help(format!("did you mean '{nearest}'?")),
                None => problem.with_help("add it under 'properties'"),
            });
            return None;
        }
    }
    Some(())
}

/// Converts a node to JSON. The depth of a file is limited, so recursion is safe.
fn json_of(node: &Node, what: &str, report: &mut Report) -> Option<Value> {
    match &node.value {
        NodeValue::Scalar(scalar) => match number_or_word(scalar) {
            Some(value) => Some(value),
            None => {
                report.add(Problem::new(
                    node.at,
                    format!("{what} holds a number that JSON cannot represent"),
                ));
                None
            }
        },
        NodeValue::List(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| json_of(item, what, report)).collect();
            Some(Value::Array(items?))
        }
        NodeValue::Mapping(_) => {
            let mut object = Map::new();
            for entry in reader::entries(node, what, report)? {
                object.insert(entry.key.to_owned(), json_of(entry.value, what, report)?);
            }
            Some(Value::Object(object))
        }
    }
}

fn number_or_word(scalar: &Scalar) -> Option<Value> {
    match scalar.kind {
        ScalarKind::Null => Some(Value::Null),
        ScalarKind::Boolean(value) => Some(value.into()),
        ScalarKind::Integer(value) => Some(value.into()),
        ScalarKind::Float(value) => Number::from_f64(value).map(Value::Number),
        ScalarKind::Text => Some(scalar.text.clone().into()),
    }
}
