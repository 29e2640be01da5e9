//! `onecall enable` and `onecall disable`: turn servers of the configuration on and off.

use std::process::ExitCode;

use onecall_clients::{Switch, with_switch};

use crate::cli::Global;
use crate::commands::editable_config::EditableConfig;
use crate::commands::note;
use crate::commands::servers::{distinct, not_found};

/// Enables or disables servers, all of them or none.
pub(crate) fn switch(
    names: &[String],
    switch: Switch,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let own = EditableConfig::find(global)?;
    let mut text = own.text().to_owned();
    let mut reports = Vec::new();
    let known = own.servers()?;
    let done = match switch {
        Switch::On => "Enabled",
        Switch::Off => "Disabled",
    };
    for name in distinct(names) {
        let is_off = known.iter().any(|server| server.name == name && server.disabled);
        let edited = with_switch(&text, name, switch).map_err(|error| not_found(&own, error))?;
        if is_off == (switch == Switch::Off) && known.iter().any(|server| server.name == name) {
            let done = done.to_lowercase();
            reports.push(format!("'{name}' is already {done} in {}", own.path().display()));
            continue;
        }
        text = edited;
        reports.push(format!("{done} '{name}' in {}", own.path().display()));
    }
    if text != own.text() {
        own.save(&text)?;
    }
    reports.iter().for_each(|report| note(report));
    Ok(ExitCode::SUCCESS)
}
