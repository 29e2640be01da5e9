//! The rows of gateways that share a store.

use std::collections::HashMap;
use std::time::Duration;

use onecall_core::storage::{StoredGateway, UsageByUser};
use onecall_core::{GatewayId, Timestamp, UserName};
use serde_json::{Map, Value, json};

use super::Columns;

/// When a gateway that has ended is removed from the store.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The columns that [`read_gateway`] reads, in its order.
pub(crate) const GATEWAY_COLUMNS: &str = "id, address, until_ms";

pub(crate) fn read_gateway<R: Columns>(row: &R) -> Result<StoredGateway, R::Error> {
    Ok(StoredGateway {
        id: GatewayId::parse(&row.text(0)?).ok_or_else(|| R::malformed(0))?,
        address: row.text(1)?,
        until: Timestamp(row.number(2)?),
    })
}

/// What users use, as it is stored.
pub(crate) fn usage_text(usage: &UsageByUser) -> String {
    let entry =
        |user: &UserName, calls: u32, programs: u32| (user.to_string(), json!([calls, programs]));
    let entries = usage.iter().map(|(user, usage)| entry(user, usage.calls, usage.programs));
    Value::Object(entries.collect::<Map<_, _>>()).to_string()
}

/// Adds what users use at one gateway, as it is stored. What cannot be read is left out.
pub(crate) fn add_usage(total: &mut UsageByUser, stored: &str) {
    let Ok(stored) = serde_json::from_str::<HashMap<String, (u32, u32)>>(stored) else { return };
    for (user, (calls, programs)) in stored {
        let Ok(user) = UserName::parse(&user) else { continue };
        let usage = total.entry(user).or_default();
        usage.calls = usage.calls.saturating_add(calls);
        usage.programs = usage.programs.saturating_add(programs);
    }
}
