//! Counts changes to the set of tools that programs may call, so that clients know when a list they
//! remember is outdated.

use std::collections::HashSet;
use std::sync::Arc;

use onecall_bridge::{ToolWatch, Tools};
use onecall_core::{ServerName, ToolSpec};
use tokio::sync::watch;

use crate::rules::Rules;

/// What a client that listed the tools last would remember.
struct Seen {
    tools: Vec<Arc<ToolSpec>>,
    /// Servers that are being connected. Listing all tools waits for them, so no client remembers a
    /// list without their tools.
    awaited: HashSet<ServerName>,
}

impl Seen {
    fn of(tools: Tools, rules: &Rules) -> Self {
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
pub(crate) async fn count(
    mut tools: ToolWatch,
    mut rules: watch::Receiver<Arc<Rules>>,
    revision: watch::Sender<u64>,
) {
    let mut last: Option<Arc<Seen>> = None;
    loop {
        let (now, current) = (tools.now(), Arc::clone(&rules.borrow_and_update()));
        // While a server is connecting, listing waits as well, so nothing has to be counted yet.
        if now.is_settled {
            let before = last.clone();
            // Comparing thousands of schemas takes long enough to delay other tasks.
            let looked = tokio::task::spawn_blocking(move || {
                let now = Seen::of(now, &current);
                let is_outdated = before.is_some_and(|before| before.is_outdated(&now));
                (Arc::new(now), is_outdated)
            });
            if let Ok((now, is_outdated)) = looked.await {
                last = Some(now);
                if is_outdated {
                    revision.send_modify(|revision| *revision += 1);
                }
            }
        }
        let goes_on = tokio::select! {
            goes_on = tools.changed() => goes_on,
            changed = rules.changed() => changed.is_ok(),
        };
        if !goes_on {
            break;
        }
    }
}
