//! Counts changes to the set of tools that programs may call, so that clients know when a list they
//! remember is outdated.

use std::collections::HashSet;
use std::sync::Arc;

use onecall_bridge::{CurrentTools, ToolWatch};
use onecall_core::{ServerName, ToolSpec};
use tokio::sync::watch;

use crate::rules::ProgramRules;

/// What a client that listed the tools last would remember.
struct RememberedTools {
    tools: Vec<Arc<ToolSpec>>,
    /// Servers that are being connected. Listing all tools waits for them, so no client remembers a
    /// list without their tools.
    awaited: HashSet<ServerName>,
}

impl RememberedTools {
    fn of(tools: CurrentTools, rules: &ProgramRules) -> Self {
        let permitted = tools.catalog.tools().filter(|spec| rules.directory.permits(spec));
        Self { tools: permitted.cloned().collect(), awaited: tools.unsettled.into_iter().collect() }
    }

    /// Whether a client that remembers `self` has an outdated list.
    fn is_outdated(&self, now: &Self) -> bool {
        let known = |spec: &&Arc<ToolSpec>| !self.awaited.contains(&spec.server);
        !now.awaited.is_subset(&self.awaited)
            || !self.tools.iter().eq(now.tools.iter().filter(known))
    }
}

/// Counts changes until the gateway stops.
pub(crate) async fn count_changes(
    mut tools: ToolWatch,
    mut rules: watch::Receiver<Arc<ProgramRules>>,
    revision: watch::Sender<u64>,
) {
    let mut last: Option<Arc<RememberedTools>> = None;
    loop {
        let (now, current) = (tools.current(), Arc::clone(&rules.borrow_and_update()));
        // While a server is connecting, listing waits as well, so nothing has to be counted yet.
        if now.is_settled {
            let before = last.clone();
            // Comparing thousands of schemas takes long enough to delay other tasks.
            let comparison = tokio::task::spawn_blocking(move || {
                let now = RememberedTools::of(now, &current);
                let is_outdated = before.is_some_and(|before| before.is_outdated(&now));
                (Arc::new(now), is_outdated)
            });
            if let Ok((now, is_outdated)) = comparison.await {
                last = Some(now);
                if is_outdated {
                    revision.send_modify(|revision| *revision += 1);
                }
            }
        }
        let is_open = tokio::select! {
            is_open = tools.changed() => is_open,
            changed = rules.changed() => changed.is_ok(),
        };
        if !is_open {
            break;
        }
    }
}
