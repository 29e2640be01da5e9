//! Exposed tools: tools that clients may call directly, without a program. They are meant for
//! single calls, where a program would cost more than it saves.

use std::sync::Arc;

use onecall_bridge::ToolDisplayMetadata;
use onecall_catalog::Catalog;
use onecall_config::ExposedNames;
use onecall_core::{AnswerForm, CallableName, Freshness, RunKind, ToolError, ToolSpec, ToolValue};
use onecall_runtime::{Observer, RunOptions, SingleCall};
use serde_json::value::RawValue;

use super::MAX_WAIT;
use super::names::{CALLABLE_PREFIX, NamedEntry, client_names};
use crate::Gateway;

/// Whether a character may be part of the name of a tool, as the protocol recommends.
fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-')
}

/// A tool that clients may call directly.
#[derive(Clone, Debug)]
pub struct ExposedTool {
    /// The name that the tool has for clients.
    pub name: String,
    /// The tool as programs see it.
    pub spec: Arc<ToolSpec>,
    /// The other fields of the tool's definition on its server, such as its title.
    pub display_metadata: ToolDisplayMetadata,
    /// Whether a call of the tool may have to wait for a person. Its answer says that it waits then.
    pub may_ask: bool,
}

impl Gateway {
    /// The tools that clients may call directly, sorted by callable name. None of them has a `reserved`
    /// name. Waits a short time for servers that are still connecting, and starts lazy ones that may
    /// have such a tool.
    pub async fn exposed_tools(&self, reserved: &[&str]) -> Vec<ExposedTool> {
        if !self.exposure.has_tools() {
            return Vec::new();
        }
        let catalog = self.catalog_with_exposed().await;
        let rules = self.rules();
        let tools = self.named_tools(&catalog, reserved).into_iter();
        tools
            .filter(|(_, spec)| rules.directory.permits(spec))
            .map(|(name, spec)| {
                let display_metadata = self.bridge.display_metadata(&spec);
                let may_ask = rules.runtime.call_may_ask(&spec);
                ExposedTool { name, spec, display_metadata, may_ask }
            })
            .collect()
    }

    /// The callable name of the tool that clients may call directly under this name. A callable name
    /// need not belong to a tool that is known.
    pub async fn find_exposed(&self, name: &str, reserved: &[&str]) -> Option<CallableName> {
        if name.starts_with(CALLABLE_PREFIX) {
            let is_exposed =
                self.exposure.matches_name(name) && self.rules().permission.permits_name(name);
            return is_exposed.then(|| CallableName::new(name));
        }
        if self.exposure.names == ExposedNames::Callable || !self.exposure.has_tools() {
            return None;
        }
        let catalog = self.catalog_with_exposed().await;
        let mut tools = self.named_tools(&catalog, reserved).into_iter();
        let (_, spec) = tools.find(|(shown, _)| shown == name)?;
        self.rules().directory.permits(&spec).then(|| spec.callable.clone())
    }

    async fn catalog_with_exposed(&self) -> Arc<Catalog> {
        self.bridge.start_by_prefix(|prefix| self.exposure.may_cover(prefix));
        self.bridge.known_catalog_within(MAX_WAIT).await
    }

    /// All tools that the configuration exposes, with the names that they have for clients.
    fn named_tools(&self, catalog: &Catalog, reserved: &[&str]) -> Vec<(String, Arc<ToolSpec>)> {
        let covered = catalog.tools().filter(|spec| self.exposure.covers(spec));
        let specs: Vec<Arc<ToolSpec>> = covered.cloned().collect();
        let entries: Vec<NamedEntry<'_>> = specs
            .iter()
            .map(|spec| NamedEntry { own: spec.tool.as_str(), callable: &spec.callable })
            .collect();
        let names = client_names(&entries, self.exposure.names, reserved, is_name_char);
        names.into_iter().zip(specs.iter().cloned()).collect()
    }

    /// Calls a tool for a client and returns the answer of its server unchanged. Dropping the
    /// future cancels the call.
    pub async fn call_exposed(
        &self,
        name: &str,
        arguments: Box<RawValue>,
        observer: &dyn Observer,
    ) -> Result<Box<RawValue>, ToolError> {
        self.call_exposed_with(name, arguments, &RunOptions::default(), observer).await
    }

    /// Calls a tool like [`Self::call_exposed`], with options.
    pub(crate) async fn call_exposed_with(
        &self,
        name: &str,
        arguments: Box<RawValue>,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<Box<RawValue>, ToolError> {
        let rules = self.rules();
        let name = CallableName::new(name);
        let call = SingleCall {
            kind: RunKind::ExposedTool,
            name: &name,
            arguments,
            form: AnswerForm::Untouched,
            // The call must reach the server, so that its changes invalidate cached answers for
            // programs.
            freshness: Freshness::New,
        };
        let (resolver, layers) = (&rules.exposed_resolver, &rules.exposed_layers);
        match rules.runtime.run_call_with(call, resolver, layers, options, observer).await?.value {
            ToolValue::Json(answer) => Ok(answer),
            _ => Err(ToolError::failed(&name, "its answer is not a result")),
        }
    }
}
