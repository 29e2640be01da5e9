//! A service for small questions about a team.

use serde_json::{Value, json};

use super::calls::CallResult;
use super::invented::person;

pub(super) fn call(tool: &str, _arguments: &Value) -> CallResult {
    Ok(match tool {
        "who_is_on_call" => {
            json!({ "primary": person(3), "backup": person(8), "until": "2026-04-07T09:00" })
        }
        "list_absences" => json!({ "absences": [
            { "name": person(5), "kind": "vacation", "back_on": "2026-04-13" },
        ] }),
        _ => json!({ "systems": [
            { "name": "export", "state": "degraded", "incident": "Large exports are slow" },
        ] }),
    })
}
