//! The tools that programs may call, as a tree of servers and tools to browse.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onecall_catalog::{
    Catalog, ServerMatch, callable_name_at, match_server, server_folder, tool_file_location,
};
use onecall_core::ToolSpec;
use tokio::time::timeout;

use crate::Gateway;
use crate::rules::ProgramRules;

/// How long listing everything waits for servers that are connecting. Tools that come later are
/// announced by a notification.
const MAX_LIST_WAIT: Duration = Duration::from_secs(2);

/// How long reading one entry waits for its server.
const MAX_READ_WAIT: Duration = Duration::from_secs(5);

/// The tools at one moment.
#[derive(Clone)]
pub struct ToolTree {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) rules: Arc<ProgramRules>,
}

impl Gateway {
    /// The tools of the servers that are connected. Starts no server.
    pub async fn tree(&self) -> ToolTree {
        let catalog = self.bridge.known_catalog_within(MAX_LIST_WAIT).await;
        ToolTree { catalog, rules: self.rules() }
    }

    /// The known tools, including those of this folder's server if it lists them in time.
    pub async fn tree_with(&self, folder: &str) -> ToolTree {
        let (known, rules) = (self.bridge.known_catalog(), self.rules());
        if known.tools().any(|spec| server_folder(&spec.server) == folder) {
            return ToolTree { catalog: known, rules };
        }
        let prefix = callable_name_at(folder, "");
        let catalog = timeout(MAX_READ_WAIT, self.bridge.catalog_for_tool(&prefix)).await;
        let catalog = catalog.unwrap_or_else(|_| self.bridge.known_catalog());
        ToolTree { catalog, rules }
    }

    /// The folders of all servers, whether their tools are known or not.
    #[must_use]
    pub fn folders(&self) -> Vec<String> {
        let status = self.bridge.status();
        let mut folders: Vec<_> = status.iter().map(|it| server_folder(&it.name)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }
}

impl fmt::Debug for ToolTree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ToolTree").field(&self.catalog.len()).finish()
    }
}

impl ToolTree {
    /// Whether both trees are of the same tools and the same rules.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog) && Arc::ptr_eq(&self.rules, &other.rules)
    }

    /// All tools that programs may call, sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.catalog.tools().filter(|spec| self.rules.directory.permits(spec))
    }

    /// The servers that have tools, by folder, and the number of their tools.
    #[must_use]
    pub fn folders(&self) -> BTreeMap<String, usize> {
        let mut folders = BTreeMap::new();
        for spec in self.tools() {
            if let Some((folder, _)) = tool_file_location(spec) {
                *folders.entry(folder).or_default() += 1;
            }
        }
        folders
    }

    /// The tools in a folder, sorted by name.
    pub fn tools_in(&self, folder: &str) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.tools().filter(move |spec| server_folder(&spec.server) == folder)
    }

    /// The tool of this folder and file name.
    #[must_use]
    pub fn tool(&self, folder: &str, stem: &str) -> Option<&Arc<ToolSpec>> {
        let spec = self.catalog.get(&callable_name_at(folder, stem))?;
        self.rules.directory.permits(spec).then_some(spec)
    }

    /// The folder and file name of the tool with the most similar name.
    #[must_use]
    pub fn nearest(&self, folder: &str, stem: &str) -> Option<(String, String)> {
        let names = self.rules.directory.nearest(&self.catalog, &callable_name_at(folder, stem));
        let (folder, stem) = tool_file_location(self.catalog.get(names.first()?.as_str())?)?;
        Some((folder, stem.to_owned()))
    }

    /// The folder with the most similar name.
    #[must_use]
    pub fn nearest_folder(&self, folder: &str) -> Option<String> {
        let folders = self.folders();
        match match_server(folder, folders.keys().map(String::as_str)) {
            ServerMatch::One(near) | ServerMatch::None(Some(near)) => Some(near.to_owned()),
            ServerMatch::Several(near) => near.first().map(|it| (*it).to_owned()),
            ServerMatch::None(None) => None,
        }
    }
}
