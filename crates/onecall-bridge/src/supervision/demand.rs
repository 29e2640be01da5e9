//! Starts lazy servers when a tool name, a program text or a command refers to them.
//!
//! The callable name of a tool depends on every server that could have a tool of the same name.
//! Such servers are started together, so that a name always refers to the same tool.

use std::sync::Arc;

use onecall_catalog::{Catalog, may_be_tool_of, mentions_tools_of, name_prefix};
use onecall_core::ServerName;

use crate::Bridge;
use crate::supervision::server::Server;

/// When the servers of a bridge are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerStart {
    /// With the bridge, except for those that are configured as lazy.
    #[default]
    AtOnce,
    /// When a tool of theirs is used or listed, as if all were configured as lazy; for a command
    /// that ends soon.
    OnDemand,
}

impl ServerStart {
    /// Whether error messages about a failed server say when it is started again. A command that
    /// ends soon has probably exited by then.
    pub(crate) fn promises_restart(self) -> bool {
        self == Self::AtOnce
    }
}

impl Bridge {
    /// Starts the idle servers that may have the tool of this name, and waits until every server
    /// that was started has listed its tools or failed.
    pub async fn catalog_for_tool(&self, name: &str) -> Arc<Catalog> {
        self.start_for_tool(name);
        self.wait_until_settled(|_| false).await.catalog
    }

    /// Starts the idle servers that may have these tools, and waits for them. If a tool of one of
    /// the names is not found there, more servers are started: all of them if such a name does not
    /// say which server its tool belongs to, else those that are not configured as lazy.
    pub async fn catalog_for_tools(
        &self,
        names: impl Iterator<Item = &str> + Clone,
    ) -> Arc<Catalog> {
        names.clone().for_each(|name| self.start_for_tool(name));
        let catalog = self.wait_until_settled(|_| false).await.catalog;
        let (mut all_found, mut all_callable) = (true, true);
        for name in names {
            if !catalog.has_qualified_name(name) {
                all_found = false;
                all_callable &= name.starts_with("mcp__");
            }
        }
        match (all_found, all_callable) {
            (true, _) => catalog,
            (false, true) => self.eager_catalog().await,
            (false, false) => self.catalog().await,
        }
    }

    /// Whether a server that may have the tool of this callable name has failed.
    #[must_use]
    pub fn has_failed_server_for(&self, name: &str) -> bool {
        let has_failed =
            |server: &Server| may_be_tool_of(name, server.name()) && server.has_failed();
        self.fleet().servers().any(|server| has_failed(server))
    }

    /// Starts the selected servers if they are idle.
    pub fn start_servers(&self, is_selected: impl Fn(&ServerName) -> bool) {
        self.start_where(|server| is_selected(server.name()));
    }

    /// Starts the selected servers if they are idle, and waits for them.
    pub async fn catalog_of_servers(
        &self,
        is_selected: impl Fn(&ServerName) -> bool,
    ) -> Arc<Catalog> {
        self.start_servers(is_selected);
        self.wait_until_settled(|_| false).await.catalog
    }

    /// Starts all servers except lazy ones, and waits for them if one of them was idle. Suggestions
    /// for unknown names come from these servers.
    pub async fn eager_catalog(&self) -> Arc<Catalog> {
        let is_eager = |server: &Server| !server.is_lazy();
        let is_idle = self.fleet().servers().any(|it| is_eager(it) && !it.is_needed());
        self.start_where(is_eager);
        self.wait_until_settled(|_| !is_idle).await.catalog
    }

    /// Starts the idle servers for which `is_needed` returns true. It gets the common prefix of the
    /// server's callable names.
    pub fn start_by_prefix(&self, is_needed: impl Fn(&str) -> bool) {
        self.start_where(|server| is_needed(&name_prefix(server.name())));
    }

    /// Starts the idle servers whose tools are named in the text of a program, all at the same
    /// time, so that the program does not wait for one after the other.
    pub fn start_named_in(&self, text: &str) {
        self.start_where(|server| mentions_tools_of(text, server.name()));
    }

    /// Starts the idle servers that may have this tool.
    pub(crate) fn start_for_tool(&self, name: &str) {
        self.start_where(|server| may_be_tool_of(name, server.name()));
    }

    fn start_where(&self, is_selected: impl Fn(&Server) -> bool) {
        let fleet = self.fleet();
        let (mut meant, mut others): (Vec<_>, Vec<_>) =
            fleet.servers().filter(|server| !server.is_needed()).partition(|it| is_selected(it));
        while let Some(server) = meant.pop() {
            server.start_if_idle();
            let prefix = name_prefix(server.name());
            let shares_names = |other: &&Arc<Server>| {
                let other = name_prefix(other.name());
                other.starts_with(&prefix) || prefix.starts_with(&other)
            };
            let (sharing, rest) = others.into_iter().partition(shares_names);
            meant.extend::<Vec<_>>(sharing);
            others = rest;
        }
    }
}
