//! Processes a new tool list of a server: reports what has changed, and decides which tools
//! programs may call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_catalog::ToolDefinition;
use onecall_core::ToolName;
use onecall_core::text::one_line;
use tracing::{debug, info, warn};

use super::{Server, ServerData};
use crate::supervision::difference::{differences, joined_names};
use crate::supervision::pins::{self, QuarantinedTool};
use crate::supervision::status::ServerState;

/// How many changes of one list are reported one by one; further ones are only counted.
const MAX_WARNINGS: usize = 5;

/// How many warnings one server can cause in total, because it may change its tools continually.
const MAX_TOTAL_WARNINGS: usize = 200;

/// The longest part of a tool's name that is shown, in characters.
const MAX_NAME: usize = 100;

/// The tool list of a server, divided by its pins.
pub(super) struct AdmittedListing {
    pub listed: Arc<Vec<ToolDefinition>>,
    pub tools: Arc<Vec<ToolDefinition>>,
    pub quarantined: Arc<Vec<QuarantinedTool>>,
}

impl ServerData {
    pub fn set_listing(&mut self, admitted: AdmittedListing) {
        let AdmittedListing { listed, tools, quarantined } = admitted;
        if let ServerState::Ready { tools: count, .. } = &mut self.state {
            *count = tools.len();
        }
        self.has_listed = true;
        (self.listed, self.tools, self.quarantined) = (listed, tools, quarantined);
    }
}

impl Server {
    /// Decides which tools of a list programs may call, and reports the changes.
    pub(super) fn admit(&self, listed: Vec<ToolDefinition>) -> AdmittedListing {
        let (before, quarantined_before) = {
            let data = self.lock();
            (Arc::clone(&data.listed), Arc::clone(&data.quarantined))
        };
        let is_same = *before == listed;
        if !is_same && !before.is_empty() {
            info!(
                server = %self.config.name, user = self.options.user_field(), tools = listed.len(),
                "the server changed its tools"
            );
        }
        // The tools of a list that is the same object stay the same objects in the catalog.
        let listed = if is_same { Arc::clone(&before) } else { Arc::new(listed) };
        let Some(file) = &self.config.pins else {
            self.report_changes(&before, &listed);
            return AdmittedListing {
                tools: Arc::clone(&listed),
                listed,
                quarantined: Arc::default(),
            };
        };
        let pins = &self.options.pins;
        let (tools, quarantined) = pins::check_and_pin(&self.config.name, pins, file, &listed);
        self.report_quarantine(&quarantined_before, &quarantined);
        AdmittedListing { listed, tools: Arc::new(tools), quarantined: Arc::new(quarantined) }
    }

    /// Checks the tools against the pins again, because the pins may have changed.
    pub fn recheck_pins(&self) {
        if self.config.pins.is_none() {
            return;
        }
        loop {
            let listed = self.listed();
            if listed.is_empty() {
                return;
            }
            let admitted = self.admit(listed.to_vec());
            let mut data = self.lock();
            // The server may have listed other tools in the meantime.
            if Arc::ptr_eq(&data.listed, &listed) {
                data.set_listing(admitted);
                drop(data);
                self.changed.notify_one();
                return;
            }
        }
    }

    /// Checks the tools against pins of a store that may have changed.
    pub async fn follow_pins(&self) {
        self.prepare_pins(&self.listed()).await;
        self.recheck_pins();
    }

    /// Reads the pins of the server into memory, if they are in a store, before these tools are compared
    /// with them.
    pub(super) async fn prepare_pins(&self, tools: &[ToolDefinition]) {
        if let Some(file) = &self.config.pins {
            self.options.pins.prepare(&self.config.name, file, tools).await;
        }
    }

    /// Warns about changed tools, because a changed description may be an attack on its readers.
    fn report_changes(&self, before: &[ToolDefinition], after: &[ToolDefinition]) {
        let before: HashMap<&ToolName, &ToolDefinition> =
            before.iter().map(|tool| (&tool.tool, tool)).collect();
        let changed = after.iter().filter_map(|tool| {
            let parts = differences(before.get(&tool.tool)?, tool);
            let name = one_line(tool.tool.as_str(), MAX_NAME);
            (!parts.is_empty())
                .then(|| format!("the tool '{name}' changed its {}", joined_names(&parts)))
        });
        self.log_warnings(changed.collect());
    }

    fn report_quarantine(&self, before: &[QuarantinedTool], after: &[QuarantinedTool]) {
        let is_new = |tool: &&QuarantinedTool| !before.contains(tool);
        let describe = |tool: &QuarantinedTool| {
            let name = one_line(tool.spec.callable.as_str(), MAX_NAME);
            format!("'{name}' is quarantined: {tool}")
        };
        self.log_warnings(after.iter().filter(is_new).map(describe).collect());
    }

    fn log_warnings(&self, changes: Vec<String>) {
        let (server, user) = (&self.config.name, self.options.user_field());
        if self.warnings.fetch_add(changes.len(), Ordering::Relaxed) > MAX_TOTAL_WARNINGS {
            return changes.iter().for_each(|change| debug!(%server, user, "{change}"));
        }
        for change in changes.iter().take(MAX_WARNINGS) {
            warn!(%server, user, "{change}");
        }
        if changes.len() > MAX_WARNINGS {
            warn!(%server, user, "and {} more tools", changes.len() - MAX_WARNINGS);
        }
    }
}
