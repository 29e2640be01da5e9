//! Builds a gateway from the command line: reads the configuration and starts engines and servers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use onecall_bridge::{Downloads, Guard, ServerStart, ServerState};
use onecall_config::{
    Config, ConfigOrigin, LoadedConfig, ProcessContext, SandboxMode, TelemetryConfig,
};
use onecall_core::Workspace;
use onecall_core::storage::{
    AuditTrail, CompleteStore, DurableStore, FleetStore, Users as UserStore,
};
use onecall_engine::{EngineSettings, Engines, JailMode, Property, Requirement};
use onecall_gateway::{Gateway, GatewayStorage, ToolFolder};
use onecall_runtime::StoreWriter;
use onecall_server::Approvals;

use crate::cli::Global;
use crate::logging::announce;
use crate::terminal::is_quiet;
use crate::token_counter::TokenCountingProcess;
use crate::{logs, protection, store, user_vault, waiting};

/// Loads the configuration and logs its warnings. Fails if it gives programs a folder that they
/// must not have. Servers get the credentials of the local user.
pub(crate) fn load(global: &Global) -> anyhow::Result<LoadedConfig> {
    load_for(global, Users::Local)
}

/// Loads the configuration as [`load`] does, for these users.
pub(crate) fn load_for(global: &Global, users: Users) -> anyhow::Result<LoadedConfig> {
    let mut loaded = read(global)?;
    protection::check(&loaded.config, loaded.source.as_deref())?;
    users.resolve(&mut loaded.config);
    Ok(loaded)
}

/// Whose programs a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// Those of the person who runs onecall, with that person's credentials.
    Local,
    /// Those of the users of a gateway. Credentials are filled in for each user.
    Many,
}

impl Users {
    /// Fills credentials into the servers, if they are those of the local user.
    pub(crate) fn resolve(self, config: &mut Config) {
        if self == Self::Local {
            user_vault::resolve_for_local_user(config);
        }
    }
}

/// Reads the configuration without checking its folders, for a command that gives programs another
/// one.
pub(crate) fn read(global: &Global) -> anyhow::Result<LoadedConfig> {
    let loaded = global.loaded()?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok(loaded.clone())
}

/// How much a command depends on a configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigurationNeed {
    /// The command works without one.
    Optional,
    /// The command has little to show without one.
    Servers,
    /// The command cannot work without one.
    Required,
}

/// Prints which configuration a command reads, if it is neither the user's own nor given by
/// `--config`, or what to do if the command needs one and there is none. Errors in the
/// configuration are left to [`load`].
pub(crate) fn print_source(global: &Global, need: ConfigurationNeed) -> anyhow::Result<()> {
    let Ok(located) = global.located() else { return Ok(()) };
    let Some(found) = &located.found else {
        ensure!(
            need != ConfigurationNeed::Required || located.warnings.is_empty(),
            "there is no configuration to use: {}",
            located.warnings.join("\n")
        );
        ensure!(
            need != ConfigurationNeed::Required,
            "there is no configuration yet: run `onecall init`"
        );
        // A file that is not trusted yet has a warning of its own.
        if need == ConfigurationNeed::Servers && located.warnings.is_empty() && !is_quiet() {
            announce(global.log_format(), "There is no configuration yet: run `onecall init`");
        }
        return Ok(());
    };
    let how = match found.origin {
        ConfigOrigin::User | ConfigOrigin::Named("--config") => return Ok(()),
        ConfigOrigin::Named(variable) => format!("named by {variable}"),
        ConfigOrigin::WorkingDirectory => "trusted in the working directory".to_owned(),
    };
    if !is_quiet() {
        announce(global.log_format(), &format!("Using {}, {how}", found.path.display()));
    }
    Ok(())
}

/// Whether there is a configuration that may be read.
pub(crate) fn is_configured(global: &Global) -> bool {
    global.located().is_ok_and(|located| located.found.is_some())
}

/// The settings for exporting spans. This is called before logging starts, so errors in the
/// configuration are left to [`load`].
pub(crate) fn telemetry(global: &Global) -> TelemetryConfig {
    global.loaded().map(|loaded| loaded.config.telemetry.clone()).unwrap_or_default()
}

/// Runs `ask` with a gateway, and stops it again. Servers start when they are needed.
pub(crate) fn with_gateway<T>(
    global: &Global,
    ask: impl AsyncFnOnce(&Gateway) -> T,
) -> anyhow::Result<T> {
    let loaded = load(global)?;
    tokio_runtime()?.block_on(async {
        let gateway = gateway_on_demand(loaded)?;
        let answer = ask(&gateway).await;
        waiting::print_failures(&gateway.status(), "");
        gateway.shutdown().await;
        Ok(answer)
    })
}

/// Runs `ask` with a gateway, and stops it again. If it takes long, the servers that it waits for
/// are shown.
pub(crate) fn ask_gateway<T>(
    global: &Global,
    ask: impl AsyncFnOnce(&Gateway) -> T,
) -> anyhow::Result<T> {
    with_gateway(global, async |gateway| wait_for_servers(gateway, ask(gateway)).await)
}

/// Runs `work`, and shows which servers it waits for if it takes long.
pub(crate) async fn wait_for_servers<T>(gateway: &Gateway, work: impl Future<Output = T>) -> T {
    let started = || {
        let mut servers = gateway.status();
        servers.retain(|server| server.state != ServerState::Idle);
        servers
    };
    waiting::with_progress(work, started).await
}

/// Starts a gateway for a configuration that [`load`] has accepted. Must be called inside a tokio
/// runtime.
pub(crate) fn gateway(loaded: LoadedConfig) -> anyhow::Result<Arc<Gateway>> {
    gateway_with(loaded, ServerStart::AtOnce, downloads())
}

/// Starts a gateway for a short command that rarely needs every server: each one is started when it
/// is first needed. Must be called inside a tokio runtime.
pub(crate) fn gateway_on_demand(loaded: LoadedConfig) -> anyhow::Result<Arc<Gateway>> {
    gateway_with(loaded, ServerStart::OnDemand, downloads())
}

/// Starts a gateway; `downloads` decides about the first downloads of its servers.
pub(crate) fn gateway_with(
    loaded: LoadedConfig,
    start: ServerStart,
    downloads: Downloads,
) -> anyhow::Result<Arc<Gateway>> {
    gateway_on(stores(&loaded.config), loaded, start, downloads)
}

/// Starts a gateway that uses these stores of its configuration.
pub(crate) fn gateway_on(
    stores: Stores,
    loaded: LoadedConfig,
    start: ServerStart,
    downloads: Downloads,
) -> anyhow::Result<Arc<Gateway>> {
    let LoadedConfig { config, source, .. } = loaded;
    logs::configure(&config);
    let Stores { complete, writer } = stores;
    complete.as_ref().map_or(Ok(()), |store| store::prepare(&config, store.as_ref()))?;
    // All programs see the same folder, so there is none where users may call different tools.
    let is_same_for_all = config.users.is_none() && config.policy.is_none();
    let tool_folder = is_same_for_all.then(tool_folder).flatten();
    let path = tool_folder.as_ref().map(|folder| folder.path().to_owned());
    let engines = engines(&config, source.as_deref(), path)?;
    let needs_vault = config.users.is_some() || user_vault::has_shared_logins(&config);
    let vault = complete.clone().filter(|_| needs_vault);
    let storage = GatewayStorage {
        store: writer,
        tool_folder,
        downloads,
        durable: complete.clone().map(|store| -> Arc<dyn DurableStore> { store }),
        audit: complete.clone().map(|store| -> Arc<dyn AuditTrail> { store }),
        user_vault: vault.map(|store| user_vault::in_store(store, &config)),
        users: complete.clone().map(|store| -> Arc<dyn UserStore> { store }),
        fleet: complete.map(|store| -> Arc<dyn FleetStore> { store }),
    };
    let gateway = Gateway::start(config, start, engines, guard()?, storage)?;
    let approvals = match gateway.approvals() {
        Some(_) => Approvals::On,
        None => Approvals::Off,
    };
    let shown =
        onecall_server::definitions(gateway.workspace(), &gateway.optional_tools(), approvals);
    gateway.set_own_definitions(&serde_json::to_string(&shown).unwrap_or_default());
    gateway.count_tokens_with(Arc::new(TokenCountingProcess::new(this_executable()?)));
    Ok(gateway)
}

/// The store of a configuration. Both are `None` if there is no folder for it.
#[derive(Default)]
pub(crate) struct Stores {
    /// The store itself, for everything that waits until it is written.
    pub(crate) complete: Option<Arc<dyn CompleteStore>>,
    /// The writer for records and caches.
    pub(crate) writer: Option<Arc<StoreWriter>>,
}

/// The store of a configuration. It is opened when it is first used.
pub(crate) fn stores(config: &Config) -> Stores {
    let complete = store::open_if_located(config);
    let writer = complete.clone().map(|store| Arc::new(StoreWriter::start(store)));
    Stores { complete, writer }
}

/// The writer for the store. The store is opened when it is first used.
pub(crate) fn store(config: &Config) -> Option<Arc<StoreWriter>> {
    stores(config).writer
}

/// The user's file of servers whose command downloads what it runs.
pub(crate) fn downloads() -> Downloads {
    Downloads::stored_below(ProcessContext::current().directories.state.as_deref())
}

/// Where the folder with tool files is created.
pub(crate) fn tool_folder_parent() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    own.filter(|it| it.is_absolute() && it.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// The folder with tool files, in which programs can explore tools. It is optional.
fn tool_folder() -> Option<ToolFolder> {
    let parent = tool_folder_parent();
    let created = ToolFolder::create_in(&parent);
    let place = parent.clone();
    // The folder for temporary files may be large, so this runs in the background.
    std::thread::spawn(move || ToolFolder::remove_abandoned(&place));
    created
        .inspect_err(|error| {
            tracing::warn!("programs have no /tools: '{}': {error}", parent.display());
        })
        .ok()
}

/// Starts the process that ends servers if this process is killed.
pub(crate) fn guard() -> anyhow::Result<Guard> {
    let mut guard = Command::new(this_executable()?);
    guard.arg("guard");
    Guard::spawn(guard).context("cannot start the process guard")
}

/// Creates the engines that `config` from the file `source` asks for; their programs can read the
/// folder `tools`.
pub(crate) fn engines(
    config: &Config,
    source: Option<&Path>,
    tools: Option<PathBuf>,
) -> anyhow::Result<Engines> {
    check_workspace(config)?;
    Ok(Engines::new(EngineSettings {
        executable: this_executable()?,
        sandbox: requirement(config),
        choice: config.engine,
        python: config.python.clone(),
        workspace: config.workspace.clone(),
        tools,
        unreadable_module_folders: protection::unreadable_module_folders(config, source),
        totals: config.totals,
    }))
}

/// The sandbox properties that are required before a program runs.
pub(crate) fn requirement(config: &Config) -> Requirement {
    let mode = match config.sandbox {
        SandboxMode::Required => JailMode::Required,
        SandboxMode::BestEffort => JailMode::BestEffort,
        SandboxMode::Off => JailMode::Off,
    };
    let without = config.sandbox_without.iter().filter_map(|it| Property::named(it.name()));
    Requirement { mode, without: without.collect() }
}

/// Checks that programs can use the workspace in `config`, if there is one.
pub(crate) fn check_workspace(config: &Config) -> anyhow::Result<()> {
    let Some(Workspace { path, .. }) = &config.workspace else { return Ok(()) };
    let metadata = std::fs::metadata(path)
        .with_context(|| format!("the workspace '{}' cannot be used", path.display()))?;
    ensure!(metadata.is_dir(), "the workspace '{}' is not a folder", path.display());
    Ok(())
}

/// The file of this process, which is executed again for helper processes.
pub(crate) fn this_executable() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find the path of the onecall executable")
}

/// Creates the tokio runtime of a command. It has one thread: a tool call is a chain of short
/// steps, and passing each step to another thread would cost more than the step itself.
pub(crate) fn tokio_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}

#[cfg(test)]
mod tests {
    use onecall_config::SandboxProperty;

    use super::*;

    #[test]
    fn a_configuration_can_do_without_every_property_and_nothing_else() {
        let written = SandboxProperty::NAMES.map(|(name, _)| name);
        assert_eq!(written, Property::ALL.map(Property::name));
    }
}
