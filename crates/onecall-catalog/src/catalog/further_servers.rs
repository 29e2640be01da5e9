//! Catalogs that consist of the tools of another catalog and those of a few more servers. Each user of a
//! gateway has such a catalog: the tools that all users share, and those of the user's own servers.

use std::sync::Arc;

use onecall_core::{ServerName, ToolSpec};

use super::{Catalog, ToolDefinition, ToolList};
use crate::naming::name_prefix;

impl Catalog {
    /// Creates the catalog of these tools and of the tools of `further` servers, which replace servers
    /// of the same name. Tools of this catalog are shared with the new one, not copied, and so are
    /// tools of `before` whose list is unchanged.
    ///
    /// A tool of this catalog gets another callable name if a further server has a tool that would
    /// have the same one.
    #[must_use]
    pub fn with_further_servers(
        &self,
        further: impl IntoIterator<Item = (ServerName, Arc<Vec<ToolDefinition>>)>,
        before: &Self,
    ) -> Self {
        let further: Vec<(ServerName, ToolList)> = further.into_iter().collect();
        if self.may_share_names_with(&further) {
            let is_kept =
                |server: &&ServerName| !further.iter().any(|(replacing, _)| replacing == *server);
            let kept = self.listed.iter().filter(|(server, _)| is_kept(server));
            let kept = kept.map(|(server, listed)| (server.clone(), Arc::clone(listed)));
            let all = kept.chain(further.iter().cloned()).collect();
            return Self::assemble(all, &[self, before]);
        }
        let Self { tools: added, listed: further, .. } = Self::assemble(further, &[before]);
        let listed = self.listed.clone().into_iter().chain(further).collect();
        Self { tools: merge(&self.tools, added), listed, ..Self::default() }
    }

    /// Whether a tool of one of these servers could have the callable name of a tool in this catalog:
    /// only if the names of two servers begin alike.
    fn may_share_names_with(&self, further: &[(ServerName, ToolList)]) -> bool {
        let own: Vec<String> = self.listed.keys().map(name_prefix).collect();
        further.iter().any(|(server, _)| {
            let prefix = name_prefix(server);
            own.iter().any(|own| own.starts_with(&prefix) || prefix.starts_with(own.as_str()))
        })
    }
}

/// Merges two lists that are sorted by callable name.
fn merge(tools: &[Arc<ToolSpec>], added: Vec<Arc<ToolSpec>>) -> Vec<Arc<ToolSpec>> {
    let mut merged = Vec::with_capacity(tools.len() + added.len());
    let mut tools = tools.iter().peekable();
    for spec in added {
        while let Some(earlier) = tools.next_if(|it| it.callable <= spec.callable) {
            merged.push(Arc::clone(earlier));
        }
        merged.push(spec);
    }
    merged.extend(tools.cloned());
    merged
}

#[cfg(test)]
mod tests {
    use onecall_core::ToolName;
    use serde_json::json;

    use super::*;

    fn list(tools: &[&str]) -> ToolList {
        let definition = |tool: &&str| ToolDefinition {
            tool: ToolName::new(*tool),
            description: None,
            input_schema: json!({ "type": "object" }).into(),
            output_schema: None,
            annotations: Default::default(),
        };
        Arc::new(tools.iter().map(definition).collect())
    }

    fn entry(server: &str, list: &ToolList) -> (ServerName, ToolList) {
        (ServerName::new(server), Arc::clone(list))
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog.names().map(|name| name.as_str()).collect()
    }

    /// How many tools of `catalog` are the same objects as in `other`.
    fn shared(catalog: &Catalog, other: &Catalog) -> usize {
        let is_shared = |spec: &&Arc<ToolSpec>| {
            other.get(spec.callable.as_str()).is_some_and(|it| Arc::ptr_eq(it, spec))
        };
        catalog.tools().filter(is_shared).count()
    }

    #[test]
    fn tools_of_both_are_shared_and_sorted() {
        let shared_list = list(&["b", "d"]);
        let base = Catalog::default().with_tool_lists([entry("m", &shared_list)]);
        let own = [entry("a", &list(&["x"])), entry("z", &list(&["y", "c"]))];
        let first = base.with_further_servers(own.clone(), &Catalog::default());
        let all = ["mcp__a__x", "mcp__m__b", "mcp__m__d", "mcp__z__c", "mcp__z__y"];
        assert_eq!(names(&first), all);
        assert_eq!(shared(&first, &base), 2);
        let second = base.with_further_servers(own, &first);
        assert_eq!(shared(&second, &first), 5);
        let none = base.with_further_servers([], &second);
        assert_eq!((names(&none), shared(&none, &base)), (names(&base), 2));
    }

    #[test]
    fn names_are_those_of_one_catalog_of_all_servers() {
        let (shared_list, own) = (list(&["x", "y"]), list(&["x", "z", "x_0"]));
        let base = Catalog::default().with_tool_lists([
            entry("a.b", &shared_list),
            entry("other", &list(&["x"])),
            entry("same", &list(&["gone"])),
        ]);
        for further in [entry("a-b", &own), entry("a", &list(&["b__x"])), entry("same", &own)] {
            let merged = base.with_further_servers([further.clone()], &Catalog::default());
            let kept = base.listed.clone().into_iter().filter(|(name, _)| *name != further.0);
            let whole = Catalog::default().with_tool_lists(kept.chain([further.clone()]));
            assert_eq!(names(&merged), names(&whole), "{}", further.0);
            let again = base.with_further_servers([further], &merged);
            assert_eq!(shared(&again, &merged), again.len());
        }
    }
}
