//! Counts the changes to what clients can list: the tools that programs may call, and those that
//! clients may call directly. Unlike in `revision.rs`, listing does not wait for servers, so a
//! server that has connected counts as a change.

use std::sync::Arc;

use onecall_bridge::ToolWatch;
use onecall_core::ToolSpec;
use tokio::sync::watch;

use crate::exposed::Exposure;
use crate::rules::ProgramRules;

/// Two change counters. The numbers themselves have no meaning.
#[derive(Clone, Debug)]
pub struct ListChanges {
    /// Counts changes to the tools that programs may call.
    pub tools: watch::Receiver<u64>,
    /// Counts changes to the tools that clients may call directly.
    pub exposed: watch::Receiver<u64>,
}

impl ListChanges {
    /// Starts counting in the background, until the gateway stops.
    pub(crate) fn start(
        tools: ToolWatch,
        rules: watch::Receiver<Arc<ProgramRules>>,
        exposure: Exposure,
    ) -> Self {
        let (tools_count, tools_counted) = watch::channel(0);
        let (exposed_count, exposed_counted) = watch::channel(0);
        tokio::spawn(count(tools, rules, exposure, tools_count, exposed_count));
        Self { tools: tools_counted, exposed: exposed_counted }
    }
}

async fn count(
    mut tools: ToolWatch,
    mut rules: watch::Receiver<Arc<ProgramRules>>,
    exposure: Exposure,
    tools_count: watch::Sender<u64>,
    exposed_count: watch::Sender<u64>,
) {
    let mut last: Arc<Vec<Arc<ToolSpec>>> = Arc::default();
    loop {
        let (now, current) = (tools.current(), Arc::clone(&rules.borrow_and_update()));
        let (before, exposure) = (Arc::clone(&last), exposure.clone());
        // Comparing thousands of schemas takes long enough to delay other tasks.
        let comparison = tokio::task::spawn_blocking(move || {
            let permitted = now.catalog.tools().filter(|spec| current.directory.permits(spec));
            let now: Vec<_> = permitted.cloned().collect();
            let differs = *before != now;
            let exposed = |tools: &[Arc<ToolSpec>]| -> Vec<Arc<ToolSpec>> {
                tools.iter().filter(|spec| exposure.covers(spec)).cloned().collect()
            };
            (differs, differs && exposed(&before) != exposed(&now), Arc::new(now))
        });
        if let Ok((differs, exposed_differ, now)) = comparison.await {
            last = now;
            for (count, differs) in [(&tools_count, differs), (&exposed_count, exposed_differ)] {
                if differs {
                    count.send_modify(|count| *count += 1);
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
