//! Counts the changes to what clients can list: the tools that programs may call, and the tools,
//! resources and prompts that clients may use directly. Unlike in `revision.rs`, listing does not wait for servers, so a
//! server that has connected counts as a change.

use std::sync::Arc;

use onecall_bridge::{ServerEvent, ServerEventKind, ToolWatch};
use onecall_core::{ToolSpec, UserName};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::exposed::Exposure;
use crate::rules::ProgramRules;

/// Change counters. The numbers themselves have no meaning.
#[derive(Clone, Debug)]
pub struct ListChanges {
    /// Counts changes to the tools that programs may call.
    pub tools: watch::Receiver<u64>,
    /// Counts changes to the tools that clients may call directly.
    pub exposed: watch::Receiver<u64>,
    /// Counts changes to the resources that clients may read directly.
    pub resources: watch::Receiver<u64>,
    /// Counts changes to the prompts that clients may get directly.
    pub prompts: watch::Receiver<u64>,
}

/// What is exposed, and the user that it is exposed to.
pub(crate) struct ExposedWatch {
    pub(crate) exposure: Exposure,
    pub(crate) user: UserName,
}

impl ListChanges {
    /// Starts counting in the background, until the gateway stops.
    pub(crate) fn start(
        tools: ToolWatch,
        rules: watch::Receiver<Arc<ProgramRules>>,
        events: broadcast::Receiver<ServerEvent>,
        watched: ExposedWatch,
    ) -> Self {
        let (tools_count, tools_counted) = watch::channel(0);
        let (exposed_count, exposed_counted) = watch::channel(0);
        let (resources_count, resources) = watch::channel(0);
        let (prompts_count, prompts) = watch::channel(0);
        let exposure = watched.exposure.clone();
        tokio::spawn(count(tools, rules, exposure, tools_count, exposed_count));
        tokio::spawn(count_announced(events, watched, resources_count, prompts_count));
        Self { tools: tools_counted, exposed: exposed_counted, resources, prompts }
    }
}

/// Counts the changes that servers announce, as long as a list is watched.
async fn count_announced(
    mut events: broadcast::Receiver<ServerEvent>,
    watched: ExposedWatch,
    resources: watch::Sender<u64>,
    prompts: watch::Sender<u64>,
) {
    let ExposedWatch { exposure, user } = watched;
    let count = |counter: &watch::Sender<u64>| counter.send_modify(|count| *count += 1);
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            // The gateway holds the receivers.
            () = resources.closed() => return,
        };
        match event {
            Ok(event) if event.user.as_ref().is_some_and(|owner| *owner != user) => {}
            Ok(ServerEvent { server, kind, .. }) => match kind {
                ServerEventKind::Resources if exposure.has_resources_of(&server) => {
                    count(&resources);
                }
                ServerEventKind::Prompts if exposure.has_prompts_of(&server) => count(&prompts),
                _ => {}
            },
            // Some of the missed events may have been changes of lists.
            Err(RecvError::Lagged(_)) => [&resources, &prompts].into_iter().for_each(count),
            Err(RecvError::Closed) => return,
        }
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
