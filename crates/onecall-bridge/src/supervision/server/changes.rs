//! Processes a new tool list of a server: reports what has changed, and decides which tools
//! programs may call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_catalog::ToolDefinition;
use onecall_core::ToolName;
use onecall_core::text::plain;
use tracing::{debug, info, warn};

use super::{Now, Server};
use crate::supervision::difference::{differences, listed as in_words};
use crate::supervision::pins::{self, Quarantined};
use crate::supervision::status::ServerState;

/// How many changes of one list are reported one by one; further ones are only counted.
const MAX_WARNINGS: usize = 5;

/// How many warnings one server can cause in total, because it may change its tools continually.
const MAX_WARNINGS_EVER: usize = 200;

/// The longest part of a tool's name that is shown, in characters.
const MAX_NAME: usize = 100;

/// The tool list of a server, divided by its pins.
pub(super) struct Admitted {
    pub listed: Arc<Vec<ToolDefinition>>,
    pub tools: Arc<Vec<ToolDefinition>>,
    pub quarantined: Arc<Vec<Quarantined>>,
}

impl Now {
    pub fn take_in(&mut self, admitted: Admitted) {
        let Admitted { listed, tools, quarantined } = admitted;
        if let ServerState::Ready { tools: count, .. } = &mut self.state {
            *count = tools.len();
        }
        (self.listed, self.tools, self.quarantined) = (listed, tools, quarantined);
    }
}

impl Server {
    /// Decides which tools of a list programs may call, and reports the changes.
    pub(super) fn admit(&self, listed: Vec<ToolDefinition>) -> Admitted {
        let (before, quarantined_before) = {
            let now = self.lock();
            (Arc::clone(&now.listed), Arc::clone(&now.quarantined))
        };
        if *before != listed && !before.is_empty() {
            info!(server = %self.config.name, tools = listed.len(), "the server changed its tools");
        }
        let listed = Arc::new(listed);
        let Some(file) = &self.config.pins else {
            self.tell_changes(&before, &listed);
            return Admitted { tools: Arc::clone(&listed), listed, quarantined: Arc::default() };
        };
        let (tools, quarantined) = pins::examine(&self.config.name, file, &listed);
        self.tell_quarantine(&quarantined_before, &quarantined);
        Admitted { listed, tools: Arc::new(tools), quarantined: Arc::new(quarantined) }
    }

    /// Checks the tools against the pins again, because the pins may have changed.
    pub fn look_at_pins(&self) {
        let listed = self.listed();
        if self.config.pins.is_some() && !listed.is_empty() {
            let admitted = self.admit(listed.to_vec());
            self.lock().take_in(admitted);
            self.changed.notify_one();
        }
    }

    /// Warns about changed tools, because a changed description may be an attack on its readers.
    fn tell_changes(&self, before: &[ToolDefinition], after: &[ToolDefinition]) {
        let before: HashMap<&ToolName, &ToolDefinition> =
            before.iter().map(|tool| (&tool.tool, tool)).collect();
        let changed = after.iter().filter_map(|tool| {
            let parts = differences(before.get(&tool.tool)?, tool);
            let name = plain(tool.tool.as_str(), MAX_NAME);
            (!parts.is_empty())
                .then(|| format!("the tool '{name}' changed its {}", in_words(&parts)))
        });
        self.warn_of(changed.collect());
    }

    fn tell_quarantine(&self, before: &[Quarantined], after: &[Quarantined]) {
        let is_news = |tool: &&Quarantined| !before.contains(tool);
        let tell = |tool: &Quarantined| {
            let name = plain(tool.spec.callable.as_str(), MAX_NAME);
            format!("'{name}' is quarantined: {tool}")
        };
        self.warn_of(after.iter().filter(is_news).map(tell).collect());
    }

    fn warn_of(&self, changes: Vec<String>) {
        let server = &self.config.name;
        if self.warnings.fetch_add(changes.len(), Ordering::Relaxed) > MAX_WARNINGS_EVER {
            return changes.iter().for_each(|change| debug!(%server, "{change}"));
        }
        for change in changes.iter().take(MAX_WARNINGS) {
            warn!(%server, "{change}");
        }
        if changes.len() > MAX_WARNINGS {
            warn!(%server, "and {} tools more", changes.len() - MAX_WARNINGS);
        }
    }
}
