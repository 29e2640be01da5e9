//! `onecall serve`: what an agent's client starts.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_config::Loaded;

use crate::cli::Global;
use crate::reload::Followed;
use crate::setup;

/// Serves until the client leaves or a signal arrives.
pub(crate) fn serve(global: &Global) -> anyhow::Result<ExitCode> {
    let followed = Followed::new(global.config.clone());
    let Loaded { config, source, .. } = setup::load(global)?;
    let runtime = setup::tokio_runtime()?;
    let served = runtime.block_on(async {
        let gateway = setup::gateway(config)?;
        let warming = Arc::clone(&gateway);
        tokio::spawn(async move { warming.warm_up().await });
        tokio::spawn(followed.keep(Arc::clone(&gateway), source));
        onecall_server::serve_stdio(gateway).await?;
        anyhow::Ok(())
    });
    // A thread that still reads stdin would hold up the end of the process.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}
