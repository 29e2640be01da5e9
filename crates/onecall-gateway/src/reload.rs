//! Switches a running gateway to another configuration.

use std::sync::{Arc, PoisonError};

use onecall_bridge::FleetChange;
use onecall_config::{Config, LocalTool};
use onecall_core::ServerName;

use crate::durable::configuration_digest;
use crate::gateway::shared_servers;
use crate::settings::{origins, private_servers};
use crate::user_bridges::per_user_servers;
use crate::{Gateway, redactor};

/// The result of switching to another configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Which servers were added, removed or restarted.
    pub servers: FleetChange,
    /// Settings that apply from the next program on.
    pub changed: Vec<&'static str>,
    /// Settings that have changed but apply only after a restart.
    pub needs_restart: Vec<&'static str>,
}

impl Gateway {
    /// Switches to another configuration. Programs that are running keep the rules they began with.
    /// Must be called inside a tokio runtime, on its thread: the servers that start and stop take the same locks.
    pub fn reload(&self, config: Config) -> Reloaded {
        if let Some(recorder) = &self.shared.recorder {
            recorder.add_secrets(redactor(&config));
        }
        if let Some(audit) = &self.shared.audit {
            audit.add_secrets(redactor(&config));
        }
        let mut current = self.config();
        // Every field is named, so that the compiler reports a new one that is not handled here.
        let Config {
            servers,
            local_tools,
            tools,
            execution,
            totals,
            sessions,
            optional_tools,
            former_names: _,
            limits,
            proxy,
            sandbox,
            sandbox_without,
            engine,
            python,
            workspace,
            expose_tools,
            expose_resources,
            expose_prompts,
            expose_names,
            output_types,
            generate,
            records,
            store,
            logs,
            report_savings,
            cache,
            approvals,
            durable,
            telemetry,
            fleet,
            users,
            policy,
            audit,
            secrets,
        } = config;
        let mut reloaded = Reloaded::default();
        let differs = [
            (sandbox != current.sandbox, "sandbox"),
            (sandbox_without != current.sandbox_without, "sandbox_without"),
            (engine != current.engine, "engine"),
            (python != current.python, "python"),
            (workspace != current.workspace, "workspace"),
            (sessions != current.sessions, "sessions"),
            (optional_tools != current.optional_tools, "optional_tools"),
            (limits != current.limits, "limits"),
            (expose_tools != current.expose_tools, "expose_tools"),
            (expose_resources != current.expose_resources, "expose_resources"),
            (expose_prompts != current.expose_prompts, "expose_prompts"),
            (expose_names != current.expose_names, "expose_names"),
            (output_types != current.output_types, "learn_output_types"),
            (records != current.records, "records"),
            (store != current.store, "store"),
            (report_savings != current.report_savings, "report_savings"),
            (cache != current.cache, "cache"),
            (approvals != current.approvals, "approvals"),
            (durable != current.durable, "durable"),
            (telemetry != current.telemetry, "telemetry"),
            (fleet != current.fleet, "fleet"),
            (users != current.users, "users"),
            (policy != current.policy, "policy"),
            (audit != current.audit, "audit"),
        ];
        reloaded.needs_restart.extend(differs.iter().filter(|it| it.0).map(|it| it.1));
        let differs = [
            (tools != current.tools, "tools"),
            (execution != current.execution || totals != current.totals, "execution"),
            (proxy != current.proxy, "proxy"),
            (local_tools != current.local_tools, "local_tools"),
            (generate != current.generate, "generate"),
            (logs != current.logs, "logs"),
        ];
        reloaded.changed.extend(differs.iter().filter(|it| it.0).map(|it| it.1));
        (current.tools, current.execution, current.proxy) = (tools, execution, proxy);
        (current.totals, current.generate, current.secrets) = (totals, generate, secrets);
        current.logs = logs;
        self.shared.engines.set_totals(totals);
        if !reloaded.changed.is_empty() {
            self.set_rules(&current);
        }
        if let Some(learned) = &self.shared.learned {
            learned.set_origins(origins(&servers));
            learned.set_private(private_servers(&servers));
        }
        if let Some(logins) = self.user_logins() {
            logins.set_servers(&servers);
        }
        reloaded.servers = self.bridge.reconfigure(shared_servers(&servers), local_tools.clone());
        self.shared.listings.iter().for_each(|listings| listings.remove(&reloaded.servers.removed));
        if let Some(cache) = &self.shared.cache {
            let FleetChange { added, removed, restarted } = &reloaded.servers;
            let local = ServerName::new(LocalTool::SERVER);
            let local = (local_tools != current.local_tools).then_some(&local);
            self.shared.identities.set(&servers, &local_tools);
            cache.invalidate_servers(added.iter().chain(removed).chain(restarted).chain(local));
        }
        (current.servers, current.local_tools) = (servers, local_tools);
        if let Some(runs) = &self.shared.durable {
            runs.set_configuration(configuration_digest(&current));
        }
        drop(current);
        self.reconfigure_users();
        reloaded
    }

    /// Applies the current configuration to the servers of users, in the background: their secrets are read
    /// from the store, which may take long to answer. A request of a user waits for the user's servers.
    fn reconfigure_users(&self) {
        let (shared, config) = (Arc::clone(&self.shared), Arc::clone(&self.config));
        tokio::task::spawn_blocking(move || {
            let entries =
                || per_user_servers(&config.lock().unwrap_or_else(PoisonError::into_inner));
            if let Some(bridges) = &shared.user_bridges {
                bridges.reconfigure(entries);
            }
        });
    }
}
