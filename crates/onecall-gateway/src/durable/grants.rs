//! Earlier approvals that cover later calls of a tool.

use std::fmt;

use onecall_core::storage::Grant;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Whether an approval covers calls with these arguments, a JSON object.
pub(super) fn covers(grant: &Grant, arguments: &str) -> bool {
    if grant.constraints.is_empty() {
        return true;
    }
    let Ok(UniqueKeys(Value::Object(arguments))) = serde_json::from_str(arguments) else {
        return false;
    };
    grant.constraints.iter().all(|(name, value)| arguments.get(name) == Some(value))
}

/// JSON in which no object has a key twice. Of two values for a key, a server may use another one
/// than this crate, so nothing can be said about such arguments.
struct UniqueKeys(Value);

struct UniqueKeysVisitor;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor).map(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON without repeated keys")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueKeys(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, UniqueKeys(value))) = entries.next_entry::<String, _>()? {
            if object.insert(key, value).is_some() {
                return Err(de::Error::custom("a key is repeated"));
            }
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ItemId, UserName};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approval_covers_calls_with_its_values_only() {
        let grant = |constraints: Value| Grant {
            item: ItemId::known("r.1"),
            name: CallableName::new("mcp__s__t"),
            user: UserName::local(),
            run: None,
            constraints: constraints.as_object().cloned().unwrap_or_default(),
            until: None,
            by: "alice".to_owned(),
        };
        let anything = grant(json!({}));
        let one_folder = grant(json!({ "folder": { "path": "a" }, "depth": 1 }));
        assert!(covers(&anything, "{}") && covers(&anything, "not JSON"));
        assert!(covers(&one_folder, r#"{"depth":1,"folder":{"path":"a"},"more":[null,-1,0.5]}"#));
        for other in [
            r#"{"folder":{"path":"a"}}"#,
            r#"{"folder":{"path":"b"},"depth":1}"#,
            r#"{"folder":{"path":"a"},"depth":2,"depth":1}"#,
            r#"{"folder":{"path":"b","path":"a"},"depth":1}"#,
            "[]",
            "",
            "{}",
        ] {
            assert!(!covers(&one_folder, other), "{other}");
        }
    }
}
