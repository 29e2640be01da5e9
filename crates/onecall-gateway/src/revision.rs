//! Counts how often the tools that programs may call have changed, for those who
//! remember a list of them.

use std::collections::HashSet;
use std::sync::Arc;

use onecall_bridge::{ToolWatch, Tools};
use onecall_core::{ServerName, ToolSpec};
use tokio::sync::watch;

use crate::rules::Rules;

/// What somebody who asked last would remember.
struct Seen {
    tools: Vec<Arc<ToolSpec>>,
    /// Whoever asks for all tools waits for these, so nobody remembers a list without
    /// them.
    awaited: HashSet<ServerName>,
}

impl Seen {
    fn of(tools: Tools, rules: &Rules) -> Self {
        let permitted = tools.catalog.tools().filter(|spec| rules.directory.permits(spec));
        Self { tools: permitted.cloned().collect(), awaited: tools.unsettled.into_iter().collect() }
    }

    /// Whether somebody who remembers `self` would be wrong now.
    fn is_outdated(&self, now: &Self) -> bool {
        let known = |spec: &&Arc<ToolSpec>| !self.awaited.contains(&spec.server);
        !now.awaited.is_subset(&self.awaited)
            || !self.tools.iter().eq(now.tools.iter().filter(known))
    }
}

/// Counts until there is nothing left to count.
pub(crate) async fn count(
    mut tools: ToolWatch,
    mut rules: watch::Receiver<Arc<Rules>>,
    revision: watch::Sender<u64>,
) {
    let mut last: Option<Arc<Seen>> = None;
    loop {
        let (now, current) = (tools.now(), Arc::clone(&rules.borrow_and_update()));
        // While a server is being tried, everybody who asks waits as well.
        if now.is_settled {
            let before = last.clone();
            // Thousands of schemas take long enough to be in the way of other tasks.
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
