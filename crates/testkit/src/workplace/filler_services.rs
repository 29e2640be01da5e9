//! Services that fill a catalog although a task needs none of them. Each has things that can be
//! listed, read, searched, created and changed, with descriptions like those of published servers.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

const DATA: &str = include_str!("../../data/workplace/filler_services.json");

/// The operations on every thing.
const VERBS: [&str; 5] = ["list", "get", "search", "create", "update"];

fn data() -> &'static Value {
    static DATA_PARSED: OnceLock<Value> = OnceLock::new();
    DATA_PARSED.get_or_init(|| serde_json::from_str(DATA).expect("filler_services.json is JSON"))
}

fn services() -> &'static [Value] {
    data()["services"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Every service with the number of its tools.
pub(super) fn all() -> Vec<(String, usize)> {
    let count = |service: &Value| service["things"].as_object().map_or(0, Map::len) * VERBS.len();
    services().iter().map(|service| (string(&service["name"]), count(service))).collect()
}

/// The tools of a service; `None` if there is no such service.
pub(super) fn definitions(service: &str) -> Option<Vec<Value>> {
    let service = services().iter().find(|known| known["name"] == service)?;
    let things = service["things"].as_object()?;
    let tools = things.iter().flat_map(|(thing, fields)| {
        VERBS.iter().map(|verb| definition(service, thing, fields, verb))
    });
    Some(tools.collect())
}

fn definition(service: &Value, thing: &str, fields: &Value, verb: &str) -> Value {
    let words = thing.replace('_', " ");
    let (of, scope) = (string(&service["of"]), string(&service["scope"]));
    let many = matches!(verb, "list" | "search");
    let mut properties = Map::new();
    properties.insert(scope.clone(), described("string", &service["scope_help"]));
    let mut required = vec![scope];
    let id = format!("{thing}_id");
    if matches!(verb, "get" | "update") {
        let help = json!(format!("Identifier of the {words}, as list_{thing}s returns it"));
        properties.insert(id.clone(), described("string", &help));
        required.push(id);
    }
    match verb {
        "list" => list_properties(&mut properties, &words),
        "search" => {
            properties.insert("query".to_owned(), data()["fields"]["query"].clone());
            required.push("query".to_owned());
            list_properties(&mut properties, &words);
        }
        "get" => {
            let help = json!(format!("Related objects to return together with the {words}"));
            let mut expand = described("array", &help);
            expand["items"] = json!({ "type": "string", "enum": ["author", "history", "links"] });
            properties.insert("expand".to_owned(), expand);
        }
        _ => {
            let names = fields.as_array().map(Vec::as_slice).unwrap_or_default();
            for name in names.iter().map(string) {
                properties.insert(name.clone(), data()["fields"][&name].clone());
            }
            required.extend(names.first().map(string).filter(|_| verb == "create"));
        }
    }
    json!({
        "name": if many { format!("{verb}_{thing}s") } else { format!("{verb}_{thing}") },
        "description": description(verb, &words, &of),
        "inputSchema": { "type": "object", "properties": properties, "required": required },
        "annotations": { "readOnlyHint": !matches!(verb, "create" | "update") },
    })
}

fn list_properties(properties: &mut Map<String, Value>, words: &str) {
    let sort = format!("Order of the {words}s; a leading minus sign reverses it");
    let more = json!({
        "sort": {
            "type": "string", "default": "-updated_at", "description": sort,
            "enum": ["created_at", "-created_at", "updated_at", "-updated_at", "name"]
        },
        "updated_since": {
            "type": "string", "format": "date-time",
            "description": "Only what has changed since this moment, in RFC 3339"
        },
        "limit": {
            "type": "integer", "minimum": 1, "maximum": 100, "default": 25,
            "description": "How many to return per page"
        },
        "cursor": {
            "type": "string",
            "description": "Cursor from the previous answer; the first page if left out"
        }
    });
    if let Value::Object(more) = more {
        properties.extend(more);
    }
}

fn description(verb: &str, words: &str, of: &str) -> String {
    match verb {
        "list" => format!(
            "Lists the {words}s of {of}, newest change first. The answer has one summary per \
             {words} and a cursor while there are more; use get_{} for everything about one of \
             them. What the authenticated user may not see is left out without a notice.",
            words.replace(' ', "_")
        ),
        "get" => format!(
            "Returns one {words} of {of} with all of its properties, its author and the times of \
             its creation and last change. Fails with 404 if there is no such {words} or if the \
             authenticated user has no access to it."
        ),
        "search" => format!(
            "Searches the {words}s of {of} and returns those that match, best match first, with \
             the passages that matched. Terms are combined with AND unless OR stands between them; \
             quote a phrase to find it as it is. Changes can take a minute to be found."
        ),
        "create" => format!(
            "Creates a {words} in {of} and returns it with its identifier. Needs write access. \
             Properties that are left out get the defaults of {of}. The call is not idempotent: \
             calling it twice makes two {words}s, so search for an existing one first."
        ),
        _ => format!(
            "Changes properties of a {words} of {of} and returns the {words} as it is afterwards. \
             Properties that are left out keep their value. Fails with 409 if somebody else has \
             changed the {words} in the meantime; read it again then, and decide anew."
        ),
    }
}

fn described(kind: &str, help: &Value) -> Value {
    json!({ "type": kind, "description": help })
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
