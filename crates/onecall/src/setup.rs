//! From the command line to a running gateway.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use onecall_bridge::Guard;
use onecall_config::{Config, Loaded, Sandbox, Surroundings, Telemetry};
use onecall_core::Workspace;
use onecall_engine::{EngineSettings, Engines, JailMode};
use onecall_runtime::{Gateway, Places, ToolFolder};
use onecall_store::Writer;

use crate::cli::Global;
use crate::waiting;

/// Finds and reads the configuration; what the user should know about it is logged.
pub(crate) fn load(global: &Global) -> anyhow::Result<Loaded> {
    let loaded = onecall_config::load(global.config.as_deref(), &Surroundings::of_process())?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok(loaded)
}

/// Where spans are to go. It is asked for before there is a log, so what else there is to say
/// of the configuration is left to [`load`].
pub(crate) fn telemetry(global: &Global) -> Telemetry {
    let loaded = onecall_config::load(global.config.as_deref(), &Surroundings::of_process());
    loaded.map(|loaded| loaded.config.telemetry).unwrap_or_default()
}

/// Asks a gateway something, and stops it again.
pub(crate) fn with_gateway<T>(
    global: &Global,
    ask: impl AsyncFnOnce(&Gateway) -> T,
) -> anyhow::Result<T> {
    let config = load(global)?.config;
    tokio_runtime()?.block_on(async {
        let gateway = gateway(config)?;
        let answer = ask(&gateway).await;
        gateway.shutdown().await;
        Ok(answer)
    })
}

/// The same, for a question that takes as long as the servers need: if that is long, it is
/// shown which ones.
pub(crate) fn ask_gateway<T>(
    global: &Global,
    ask: impl AsyncFnOnce(&Gateway) -> T,
) -> anyhow::Result<T> {
    with_gateway(global, async |gateway| waiting::shown(ask(gateway), || gateway.status()).await)
}

/// Starts a gateway for `config`. Must be called inside a tokio runtime.
pub(crate) fn gateway(config: Config) -> anyhow::Result<Arc<Gateway>> {
    let (store, tool_folder) = (store(&config), tool_folder());
    let path = tool_folder.as_ref().map(|folder| folder.path().to_owned());
    let engines = engines(&config, this_executable()?, path)?;
    let gateway = Gateway::start(config, engines, guard()?, Places { store, tool_folder });
    let shown = onecall_server::definitions(gateway.workspace(), &gateway.exposed());
    gateway.count_own_definitions(serde_json::to_string(&shown).unwrap_or_default());
    Ok(gateway)
}

/// What outlives this process; nothing of it is touched before it is needed.
pub(crate) fn store(config: &Config) -> Option<Arc<Writer>> {
    let file = config.store.file(&Surroundings::of_process().directories)?;
    Some(Arc::new(Writer::start(onecall_store::open(file))))
}

/// The folder in which programs can look around. They can do without.
fn tool_folder() -> Option<ToolFolder> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parent =
        own.filter(|it| it.is_absolute() && it.is_dir()).unwrap_or_else(std::env::temp_dir);
    let created = ToolFolder::below(&parent);
    let place = parent.clone();
    // A place for temporary files may be full of others, and nobody waits for this.
    std::thread::spawn(move || ToolFolder::tidy_up(&place));
    created
        .inspect_err(|error| {
            tracing::warn!("programs have no /tools: '{}': {error}", parent.display());
        })
        .ok()
}

/// Starts the process that ends servers if this one is killed.
pub(crate) fn guard() -> anyhow::Result<Guard> {
    let mut guard = Command::new(this_executable()?);
    guard.arg("guard");
    Guard::spawn(guard).context("cannot start the process guard")
}

/// The engines that `config` asks for, whose programs may look into the folder `tools`.
pub(crate) fn engines(
    config: &Config,
    executable: PathBuf,
    tools: Option<PathBuf>,
) -> anyhow::Result<Engines> {
    check_workspace(config)?;
    Ok(Engines::new(EngineSettings {
        executable,
        mode: match config.sandbox {
            Sandbox::Required => JailMode::Required,
            Sandbox::BestEffort => JailMode::BestEffort,
            Sandbox::Off => JailMode::Off,
        },
        choice: config.engine,
        python: config.python.clone(),
        workspace: config.workspace.clone(),
        tools,
    }))
}

/// Whether programs can use the folder that `config` gives them, if it does.
pub(crate) fn check_workspace(config: &Config) -> anyhow::Result<()> {
    let Some(Workspace { path, .. }) = &config.workspace else { return Ok(()) };
    let metadata = std::fs::metadata(path)
        .with_context(|| format!("the workspace '{}' cannot be used", path.display()))?;
    ensure!(metadata.is_dir(), "the workspace '{}' is not a folder", path.display());
    // The configuration refuses `/` by name; a link can lead there too.
    let is_root = std::fs::canonicalize(path).is_ok_and(|path| path.parent().is_none());
    ensure!(!is_root, "the workspace '{}' is the whole disk", path.display());
    Ok(())
}

/// The file this process runs from, to be run again for its helper processes.
pub(crate) fn this_executable() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find the path of the onecall executable")
}

/// A runtime for one command. One thread carries every message: a tool call is a
/// chain of short steps, and handing each to another thread would cost more than
/// the step itself.
pub(crate) fn tokio_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}
