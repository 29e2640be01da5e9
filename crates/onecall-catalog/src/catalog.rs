//! The catalog of all callable tools, with lookup by name, by alias and by search.

mod further_servers;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use onecall_core::{CallableName, Schema, ServerName, ToolAnnotations, ToolName, ToolSpec};

use crate::alias::{AliasIndex, AliasMatch};
use crate::naming::{callable_names, name_prefix, natural_name};
use crate::nearest::NameIndex;
use crate::search::SearchIndex;

/// The share of the best score that a relevant match must reach. A worse match shares only common
/// words with the query.
const RELEVANT_SHARE: f32 = 0.3;

/// The longest name that is looked up. Searching for similar names to a longer one would take
/// minutes without a way to interrupt it.
pub(crate) const LONGEST_NAME: usize = 4 * 1024;

/// The tools of one server. Lists that are the same object have the same content.
type ToolList = Arc<Vec<ToolDefinition>>;

/// A tool as a server lists it, before it has a callable name.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The name that the server gives it.
    pub tool: ToolName,
    /// The server's description of it.
    pub description: Option<Arc<str>>,
    /// JSON Schema of the arguments.
    pub input_schema: Schema,
    /// JSON Schema of the structured result, where the server declares one.
    pub output_schema: Option<Schema>,
    /// The server's hints about its effects.
    pub annotations: ToolAnnotations,
}

/// The callable tools of all servers at one moment. A catalog never changes; a new tool list
/// creates a new one.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The tools, sorted by callable name, which is unique.
    tools: Vec<Arc<ToolSpec>>,
    /// The tool list of each server.
    listed: HashMap<ServerName, ToolList>,
    /// Indexes that are built on first use, so that an unused catalog costs nothing.
    name_index: OnceLock<NameIndex>,
    search_index: OnceLock<SearchIndex>,
    alias_index: OnceLock<AliasIndex>,
}

impl Catalog {
    /// Creates a catalog and assigns callable names. If a server lists two tools with the same
    /// name, the first one is used.
    pub fn build(servers: impl IntoIterator<Item = (ServerName, Vec<ToolDefinition>)>) -> Self {
        let servers = servers.into_iter().map(|(server, listed)| (server, Arc::new(listed)));
        Self::default().with_tool_lists(servers)
    }

    /// Creates the next catalog from the current tool lists. The tools of a server with an
    /// unchanged list are shared with this catalog, not copied.
    #[must_use]
    pub fn with_tool_lists(
        &self,
        servers: impl IntoIterator<Item = (ServerName, Arc<Vec<ToolDefinition>>)>,
    ) -> Self {
        Self::assemble(servers.into_iter().collect(), &[self])
    }

    /// Creates a catalog from tool lists. A tool is shared with the first of `earlier` in which the
    /// list of its server is the same and the tool has the same callable name.
    fn assemble(servers: Vec<(ServerName, ToolList)>, earlier: &[&Self]) -> Self {
        let mut raw_names = Vec::new();
        let mut definitions = Vec::new();
        let mut seen = HashSet::new();
        for (server, listed) in &servers {
            for definition in listed.iter() {
                if seen.insert((server, &definition.tool)) {
                    raw_names.push((server.clone(), definition.tool.clone()));
                    definitions.push(definition);
                }
            }
        }
        let with_same_list = |(server, listed): &(ServerName, ToolList)| -> Vec<&Self> {
            let has_same =
                |it: &&&Self| it.listed.get(server).is_some_and(|known| Arc::ptr_eq(known, listed));
            earlier.iter().filter(has_same).copied().collect()
        };
        let sources: HashMap<&ServerName, Vec<&Self>> =
            servers.iter().map(|entry| (&entry.0, with_same_list(entry))).collect();

        let mut tools: Vec<Arc<ToolSpec>> = callable_names(&raw_names)
            .into_iter()
            .zip(raw_names)
            .zip(definitions)
            .map(|((callable, (server, tool)), definition)| {
                let known = sources.get(&server).into_iter().flatten().find_map(|earlier| {
                    let spec = earlier.get(callable.as_str())?;
                    (spec.server == server && spec.tool == tool).then_some(spec)
                });
                if let Some(spec) = known {
                    return Arc::clone(spec);
                }
                Arc::new(ToolSpec {
                    callable,
                    server,
                    tool,
                    description: definition.description.clone(),
                    input_schema: definition.input_schema.clone(),
                    output_schema: definition.output_schema.clone(),
                    annotations: definition.annotations.clone(),
                })
            })
            .collect();
        tools.sort_by(|a, b| a.callable.cmp(&b.callable));
        Self { tools, listed: servers.into_iter().collect(), ..Self::default() }
    }

    /// The plain names that several tools would have, with those tools; the callable name of each
    /// has a suffix instead.
    #[must_use]
    pub fn collisions(&self) -> BTreeMap<String, Vec<&ToolSpec>> {
        let mut by_name: BTreeMap<String, Vec<&ToolSpec>> = BTreeMap::new();
        for spec in &self.tools {
            by_name.entry(natural_name(&spec.server, &spec.tool)).or_default().push(spec);
        }
        by_name.retain(|_, tools| tools.len() > 1);
        by_name
    }

    /// Creates a catalog of tools that already have callable names. If two have the same one, the
    /// first is used.
    pub fn from_specs(tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        let mut tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        tools.sort_by(|a, b| a.callable.cmp(&b.callable));
        tools.dedup_by(|later, earlier| later.callable == earlier.callable);
        Self { tools, ..Self::default() }
    }

    /// The tool list of a server from which this catalog was created.
    #[must_use]
    pub fn tool_list(&self, server: &ServerName) -> Option<&Arc<Vec<ToolDefinition>>> {
        self.listed.get(server)
    }

    /// The tool with this callable name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        let position = self.tools.binary_search_by(|tool| tool.callable.as_str().cmp(name)).ok()?;
        self.tools.get(position)
    }

    /// The tool with a callable name in this Unicode spelling. Listed names have priority: see
    /// [`Self::get`].
    #[must_use]
    pub fn find_alias(&self, name: &str) -> AliasMatch<'_> {
        if name.len() > LONGEST_NAME {
            return AliasMatch::Unknown;
        }
        let found: Vec<_> = self.tools_at(self.alias_index().by_callable_name(name)).collect();
        match found.as_slice() {
            [] => AliasMatch::Unknown,
            [spec] => AliasMatch::One(spec),
            several => {
                AliasMatch::Ambiguous(several.iter().map(|it| it.callable.clone()).collect())
            }
        }
    }

    /// All tools that this name may refer to. The first of these forms that matches any tool is
    /// used: the callable name; `server.tool`; the tool's own name in any spelling, also as the end
    /// of its callable name, or the callable name as some clients spell it.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Vec<&Arc<ToolSpec>> {
        if let Some(spec) = self.get(name) {
            return vec![spec];
        }
        let mut found: Vec<_> =
            self.tools.iter().filter(|it| is_qualified_name(name, it)).collect();
        if !found.is_empty() {
            return found;
        }
        let has_name = |it: &&Arc<ToolSpec>| {
            let short = it.callable.as_str().strip_prefix(&name_prefix(&it.server));
            it.tool.as_str() == name || short == Some(name) || is_client_spelling(name, it)
        };
        found.extend(self.tools.iter().filter(has_name));
        if name.len() <= LONGEST_NAME {
            let index = self.alias_index();
            for spec in self
                .tools_at(index.by_callable_name(name))
                .chain(self.tools_at(index.by_tool_name(name)))
            {
                if !found.iter().any(|known| Arc::ptr_eq(known, spec)) {
                    found.push(spec);
                }
            }
        }
        found
    }

    /// Whether this name includes the server of its tool, and the tool exists. Then it cannot refer
    /// to a tool of another server.
    #[must_use]
    pub fn has_qualified_name(&self, name: &str) -> bool {
        self.get(name).is_some()
            || self.tools.iter().any(|spec| is_qualified_name(name, spec))
            || matches!(self.find_alias(name), AliasMatch::One(_))
    }

    fn alias_index(&self) -> &AliasIndex {
        self.alias_index.get_or_init(|| AliasIndex::build(&self.tools))
    }

    fn tools_at(&self, positions: &[usize]) -> impl Iterator<Item = &Arc<ToolSpec>> {
        positions.iter().filter_map(|position| self.tools.get(*position))
    }

    /// All callable names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &CallableName> {
        self.tools.iter().map(|tool| &tool.callable)
    }

    /// All tools, sorted by callable name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.tools.iter()
    }

    /// The number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether the catalog has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The callable names that are most similar to `name`, at most `limit`, best first; empty if
    /// none is similar.
    #[must_use]
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<CallableName> {
        if name.len() > LONGEST_NAME {
            return Vec::new();
        }
        let index = self.name_index.get_or_init(|| NameIndex::build(&self.tools));
        let found = index.nearest(name, limit).into_iter();
        found.filter_map(|position| Some(self.tools.get(position)?.callable.clone())).collect()
    }

    /// The tools that match `query`, at most `limit`, best first; if the query is empty, the first
    /// ones by name.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<&Arc<ToolSpec>> {
        if query.trim().is_empty() {
            return self.tools.iter().take(limit).collect();
        }
        let found = self.search_index().search(query, limit).into_iter();
        found.filter_map(|(position, _)| self.tools.get(position)).collect()
    }

    /// The tools that `filter` accepts and that match `query`, best first, without those that
    /// match much worse than the best; all of them sorted by name if the query is empty.
    #[must_use]
    pub fn search_relevant(
        &self,
        query: &str,
        filter: impl Fn(&ToolSpec) -> bool,
    ) -> Vec<&Arc<ToolSpec>> {
        if query.trim().is_empty() {
            return self.tools.iter().filter(|tool| filter(tool)).collect();
        }
        let found = self.search_index().search(query, usize::MAX).into_iter();
        let mut found = found
            .filter_map(|(position, score)| Some((self.tools.get(position)?, score)))
            .filter(|(tool, _)| filter(tool))
            .peekable();
        let least = found.peek().map_or(0.0, |(_, best)| best * RELEVANT_SHARE);
        found.take_while(|(_, score)| *score >= least).map(|(tool, _)| tool).collect()
    }

    fn search_index(&self) -> &SearchIndex {
        self.search_index.get_or_init(|| SearchIndex::build(&self.tools))
    }
}

/// Whether a name is `server.tool` of this tool.
fn is_qualified_name(name: &str, spec: &ToolSpec) -> bool {
    let rest = name.strip_prefix(spec.server.as_str()).and_then(|rest| rest.strip_prefix('.'));
    rest == Some(spec.tool.as_str())
}

/// Whether a name is the spelling that some clients use for this tool: `mcp_sales_list_orders` for
/// `mcp__sales__list_orders`.
fn is_client_spelling(name: &str, spec: &ToolSpec) -> bool {
    name.starts_with("mcp_") && spec.callable.as_str().replace("__", "_") == name
}
