//! What names mean to the programs of a gateway. A run looks each name up once, at its first use or
//! when its program is checked, and keeps what it found until tools change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_catalog::permits;
use onecall_core::{
    CallableName, Resolution, Resolving, ToolError, ToolPolicy, ToolResolver, ToolSpec,
};

use crate::layers::function;

/// Names that one run remembers; more are looked up each time.
const MAX_REMEMBERED: usize = 1024;

/// The tools that another resolver knows, as far as policy lets programs have them.
pub struct PermittedTools {
    tools: Arc<dyn ToolResolver>,
    policy: ToolPolicy,
    /// Whether there are functions for resources and prompts beside the tools.
    has_functions: bool,
}

impl PermittedTools {
    /// What programs can call: the tools that `policy` permits, and the functions beside them.
    #[must_use]
    pub fn for_programs(tools: Arc<dyn ToolResolver>, policy: ToolPolicy) -> Self {
        Self { tools, policy, has_functions: true }
    }

    /// The tools that `policy` permits, and nothing else.
    #[must_use]
    pub fn tools_only(tools: Arc<dyn ToolResolver>, policy: ToolPolicy) -> Self {
        Self { tools, policy, has_functions: false }
    }

    fn permitted(&self, resolution: Resolution) -> Resolution {
        match resolution {
            Resolution::Callable(spec)
            | Resolution::Attribute(spec)
            | Resolution::Unavailable { spec, .. }
                if !permits(&self.policy, &spec) =>
            {
                Resolution::Blocked
            }
            Resolution::Unknown { mut nearest, reason } => {
                nearest.retain(|near| self.permits_known(near));
                Resolution::Unknown { nearest, reason }
            }
            resolution => resolution,
        }
    }

    /// Whether programs may call the tool of this name. Of one that is not known yet, its name
    /// decides.
    fn permits_known(&self, name: &CallableName) -> bool {
        match self.tools.resolve(name).known() {
            Some(Resolution::Callable(spec)) => permits(&self.policy, &spec),
            _ => self.policy.permits(name.as_str()),
        }
    }
}

impl ToolResolver for PermittedTools {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        match function(name.as_str()).filter(|_| self.has_functions) {
            Some(spec) => Resolving::now(Resolution::Callable(Arc::clone(spec))),
            None => self.tools.resolve(name).map(|resolution| self.permitted(resolution)),
        }
    }

    fn revision(&self) -> u64 {
        self.tools.revision()
    }
}

/// The names of one run.
pub(crate) struct RunNames<'a> {
    resolver: &'a dyn ToolResolver,
    remembered: Mutex<HashMap<CallableName, Handle>>,
}

/// A tool that a name was found to mean, while the revision is the same.
#[derive(Clone)]
struct Handle {
    spec: Arc<ToolSpec>,
    revision: u64,
}

impl<'a> RunNames<'a> {
    /// Names are looked up by `resolver`.
    pub(crate) fn new(resolver: &'a dyn ToolResolver) -> Self {
        Self { resolver, remembered: Mutex::default() }
    }

    /// The tool that a call of this name reaches, or why it reaches none, and the revision at which
    /// that was found out.
    pub(crate) async fn target(
        &self,
        name: &CallableName,
    ) -> (Result<Arc<ToolSpec>, ToolError>, u64) {
        let revision = self.resolver.revision();
        if let Some(spec) = self.recall(name, revision) {
            return (Ok(spec), revision);
        }
        let resolution = self.resolver.resolve(name).await;
        self.remember(name, &resolution, revision);
        (resolution.target(name), revision)
    }

    fn recall(&self, name: &CallableName, revision: u64) -> Option<Arc<ToolSpec>> {
        let remembered = self.lock();
        let handle = remembered.get(name).filter(|handle| handle.revision == revision)?;
        Some(Arc::clone(&handle.spec))
    }

    fn remember(&self, name: &CallableName, resolution: &Resolution, revision: u64) {
        let Resolution::Callable(spec) = resolution else { return };
        let mut remembered = self.lock();
        if remembered.len() < MAX_REMEMBERED || remembered.contains_key(name) {
            remembered.insert(name.clone(), Handle { spec: Arc::clone(spec), revision });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallableName, Handle>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolResolver for RunNames<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        let revision = self.resolver.revision();
        if let Some(spec) = self.recall(name, revision) {
            return Resolving::now(Resolution::Callable(spec));
        }
        self.resolver.resolve(name).map(move |resolution| {
            self.remember(name, &resolution, revision);
            resolution
        })
    }

    fn revision(&self) -> u64 {
        self.resolver.revision()
    }
}
