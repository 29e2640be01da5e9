//! A service for small questions about the day ahead.

use serde_json::{Value, json};

use super::calls::CallResult;

pub(super) fn call(tool: &str, _arguments: &Value) -> CallResult {
    Ok(match tool {
        "get_forecast" => {
            json!({ "low": 4, "high": 13, "rain_percent": 70, "text": "Rain from noon on" })
        }
        "next_departures" => json!({ "departures": [
            { "line": "M10", "time": "08:06", "delay_minutes": 0 },
            { "line": "M10", "time": "08:16", "delay_minutes": 4 },
            { "line": "12", "time": "08:19", "delay_minutes": 0 },
        ] }),
        _ => json!({ "dishes": [
            { "name": "Lentil soup", "cents": 490 }, { "name": "Pasta with sage", "cents": 720 },
        ] }),
    })
}
