//! Name lookup for programs. A run resolves each name once, at its first use or when its program is
//! checked, and remembers the tool until the set of tools changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_core::{
    CallableName, KnownBy, Resolution, ResolutionFuture, ToolError, ToolResolver, ToolSpec,
};

use crate::ToolPermission;
use crate::layers::{FunctionUser, resource_function};

/// How many names one run remembers; further ones are resolved each time.
const MAX_REMEMBERED: usize = 1024;

/// Resolves names with another resolver, and hides the tools that programs may not call.
pub struct PermittedTools {
    tools: Arc<dyn ToolResolver>,
    permission: ToolPermission,
    /// Whose functions for resources and prompts can be called as well.
    functions: Option<FunctionUser>,
}

impl PermittedTools {
    /// Everything that programs can call: the tools that `permission` names, and the functions for
    /// resources and prompts.
    #[must_use]
    pub fn for_programs(tools: Arc<dyn ToolResolver>, permission: ToolPermission) -> Self {
        Self { tools, permission, functions: Some(FunctionUser::Program) }
    }

    /// The tools that `permission` names, and nothing else.
    #[must_use]
    pub fn tools_only(tools: Arc<dyn ToolResolver>, permission: ToolPermission) -> Self {
        Self { tools, permission, functions: None }
    }

    /// Everything that clients can use directly: the tools that `permission` names, and the functions
    /// for resources and prompts that clients have.
    #[must_use]
    pub fn for_clients(tools: Arc<dyn ToolResolver>, permission: ToolPermission) -> Self {
        Self { tools, permission, functions: Some(FunctionUser::Client) }
    }

    fn permitted(&self, resolution: Resolution) -> Resolution {
        match resolution {
            Resolution::Unavailable { ref spec, known_by: KnownBy::Name, .. }
                if self.permission.permits_name(spec.callable.as_str()) =>
            {
                resolution
            }
            Resolution::Callable(spec)
            | Resolution::Attribute(spec)
            | Resolution::Unavailable { spec, .. }
                if !self.permission.permits(&spec) =>
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

    /// Whether programs may call the tool of this name. For a tool that is not known yet, the
    /// name alone decides.
    fn permits_known(&self, name: &CallableName) -> bool {
        match self.tools.resolve(name).if_ready() {
            Some(Resolution::Callable(spec)) => self.permission.permits(&spec),
            _ => self.permission.permits_name(name.as_str()),
        }
    }
}

impl ToolResolver for PermittedTools {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        match self.functions.and_then(|user| resource_function(name.as_str(), user)) {
            Some(spec) => ResolutionFuture::ready(Resolution::Callable(Arc::clone(spec))),
            None => self.tools.resolve(name).map(|resolution| self.permitted(resolution)),
        }
    }

    fn revision(&self) -> u64 {
        self.tools.revision()
    }
}

/// The names that one run has resolved.
pub(crate) struct RunNames<'a> {
    resolver: &'a dyn ToolResolver,
    remembered: Mutex<HashMap<CallableName, ResolvedTool>>,
}

/// The tool that a name was resolved to, valid while the revision stays the same.
#[derive(Clone)]
struct ResolvedTool {
    spec: Arc<ToolSpec>,
    revision: u64,
}

impl<'a> RunNames<'a> {
    /// Creates an empty memory; names are resolved by `resolver`.
    pub(crate) fn new(resolver: &'a dyn ToolResolver) -> Self {
        Self { resolver, remembered: Mutex::default() }
    }

    /// The tool that a call of this name reaches, or why it reaches none, and the revision at which
    /// the name was resolved.
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

    /// The tool that a call of this name reaches, if that is known without waiting.
    pub(crate) fn known(&self, name: &CallableName) -> Option<Arc<ToolSpec>> {
        let revision = self.resolver.revision();
        self.recall(name, revision)
            .or_else(|| self.resolver.resolve(name).if_ready()?.target(name).ok())
    }

    fn recall(&self, name: &CallableName, revision: u64) -> Option<Arc<ToolSpec>> {
        let remembered = self.lock();
        let resolved = remembered.get(name).filter(|resolved| resolved.revision == revision)?;
        Some(Arc::clone(&resolved.spec))
    }

    fn remember(&self, name: &CallableName, resolution: &Resolution, revision: u64) {
        let Resolution::Callable(spec) = resolution else { return };
        let mut remembered = self.lock();
        if remembered.len() < MAX_REMEMBERED || remembered.contains_key(name) {
            remembered.insert(name.clone(), ResolvedTool { spec: Arc::clone(spec), revision });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallableName, ResolvedTool>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolResolver for RunNames<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        let revision = self.resolver.revision();
        if let Some(spec) = self.recall(name, revision) {
            return ResolutionFuture::ready(Resolution::Callable(spec));
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
