//! The Cedar policies of a gateway: loads them, replaces them when their files change, and checks them
//! again when tools appear or change.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use onecall_bridge::{Bridge, CurrentTools, ToolWatch};
use onecall_config::{Config, LocalTool};
use onecall_core::{
    AccessDecision, AccessOutlook, AccessPolicy, AccessRequest, Principal, ServerName, ToolSpec,
};
use onecall_policy::{Policies, PolicyErrors, PolicySource, PolicyWarning, WarningKind};

use crate::Gateway;

/// The policies that are in force.
pub(crate) struct PoliciesInForce(RwLock<Arc<Policies>>);

impl PoliciesInForce {
    pub(crate) fn current(&self) -> Arc<Policies> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, policies: Policies) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policies);
    }
}

impl AccessPolicy for PoliciesInForce {
    fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision {
        self.current().decide(request)
    }

    fn outlook(&self, principal: &Principal, tool: &ToolSpec) -> AccessOutlook {
        self.current().outlook(principal, tool)
    }

    fn asks(&self) -> bool {
        self.current().asks()
    }
}

/// Loads the policies at `path` for these servers, with the tools that are known so far.
fn load<'a>(
    path: &Path,
    servers: &[ServerName],
    tools: impl IntoIterator<Item = &'a Arc<ToolSpec>>,
) -> Result<Policies, PolicyErrors> {
    let (policies, warnings) = Policies::new(PolicySource::load(path)?, servers, tools)?;
    // Tools are not known yet when a gateway starts: what is missing then is reported later.
    warnings.iter().for_each(|warning| tracing::debug!("{}", text(warning)));
    Ok(policies)
}

/// Loads the policies of a configuration.
///
/// # Errors
/// If they cannot be read, or are not valid. Nothing may be called then.
pub(crate) fn load_policies(config: &Config) -> Result<Option<Arc<PoliciesInForce>>, PolicyErrors> {
    let Some(path) = &config.policy else { return Ok(None) };
    let policies = load(path, &server_names(config), [])?;
    Ok(Some(Arc::new(PoliciesInForce(RwLock::new(Arc::new(policies))))))
}

/// The servers that policies may name.
fn server_names(config: &Config) -> Vec<ServerName> {
    let local = (!config.local_tools.is_empty()).then(LocalTool::server);
    config.servers.iter().map(|server| server.name.clone()).chain(local).collect()
}

/// All tools that servers have listed, also those that programs may not call.
fn all_tools(bridge: &Bridge) -> Vec<Arc<ToolSpec>> {
    let quarantined = bridge.quarantine().into_iter().map(|tool| tool.spec);
    bridge.known_catalog().tools().cloned().chain(quarantined).collect()
}

fn text(warning: &PolicyWarning) -> String {
    warning.problem.to_string()
}

impl Gateway {
    /// Reads the policies again. If they are not valid, those that were in force stay so.
    ///
    /// # Errors
    /// All problems of the new policies.
    pub fn reload_policies(&self) -> Result<(), PolicyErrors> {
        let config = self.config();
        let (Some(in_force), Some(path)) = (&self.shared.policies, &config.policy) else {
            return Ok(());
        };
        let tools = all_tools(&self.bridge);
        in_force.replace(load(path, &server_names(&config), &tools)?);
        // Which tools users see may have changed.
        self.set_rules(&config);
        Ok(())
    }

    /// Checks the policies again whenever tools have changed, and logs what does not fit.
    pub(crate) async fn recheck_policies_on_change(gateway: Weak<Self>, mut tools: ToolWatch) {
        let mut logged = Vec::new();
        loop {
            {
                let Some(gateway) = gateway.upgrade() else { return };
                let Some(in_force) = gateway.shared.policies.clone() else { return };
                let CurrentTools { is_settled, unsettled, .. } = tools.current();
                let tools = all_tools(&gateway.bridge);
                // Thousands of schemas take long enough to delay other tasks.
                let check = move || in_force.current().recheck(&tools);
                let warnings = tokio::task::spawn_blocking(check).await.unwrap_or_default();
                // A server that is not needed yet will list its tools when it is.
                let is_expected = |warning: &&PolicyWarning| matches!(&warning.kind, WarningKind::NotListedYet(it) if unsettled.contains(it));
                let texts: Vec<String> =
                    warnings.iter().filter(|it| !is_expected(it)).map(text).collect();
                // Before that, tools are missing that are about to be listed.
                if is_settled {
                    texts.iter().filter(|it| !logged.contains(*it)).for_each(|warning| {
                        tracing::warn!("{warning}");
                    });
                    logged = texts;
                }
            }
            if !tools.changed().await {
                return;
            }
        }
    }
}
