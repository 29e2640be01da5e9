//! `onecall serve`: the MCP server, which a client starts on stdio, or which many clients share
//! over HTTP.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use onecall_bridge::ServerStart;
use onecall_config::LoadedConfig;
use onecall_gateway::Gateway;
use onecall_server::HttpServer;

use crate::cli::Global;
use crate::http::{self, HttpOptions};
use crate::logging::announce;
use crate::reload::ConfigWatcher;
use crate::setup::{self, Stores, Users};
use crate::system;
use crate::terminal::is_quiet;

/// The hint for a person who starts the server in a terminal.
const WITHOUT_CLIENT: &str = "\
onecall is an MCP server. It now waits for an MCP client on stdin; clients start it by themselves.
To add it to a client, press Ctrl-C and run `onecall install CLIENT`, for example
`onecall install claude-code`. To try a program by hand, run `onecall repl`.";

/// Serves until the client disconnects or a signal arrives.
pub(crate) fn serve(http: HttpOptions, global: &Global) -> anyhow::Result<ExitCode> {
    let http = http.settings()?;
    let has_users = global.loaded()?.config.users.is_some();
    let users = if http.is_some() && has_users { Users::Many } else { Users::Local };
    let loaded = setup::load_for(global, users)?;
    let watcher = ConfigWatcher::new(global, &loaded, users);
    let runtime = setup::tokio_runtime()?;
    let served = runtime.block_on(async {
        let stores = setup::stores(&loaded.config);
        match http {
            None => {
                if io::stdin().is_terminal() && !is_quiet() {
                    announce(global.log_format(), WITHOUT_CLIENT);
                }
                onecall_server::serve_stdio(gateway(loaded, watcher, stores)?).await?;
            }
            Some(mut settings) => {
                http::configure(&mut settings, &loaded, stores.complete.as_ref())?;
                // The port is bound first, so that no server is started if it is in use.
                let server = HttpServer::bind(settings)?;
                let gateway = gateway(loaded, watcher, stores)?;
                announce(global.log_format(), &format!("listening on {}", server.url()));
                server.serve(gateway).await?;
            }
        }
        anyhow::Ok(())
    });
    // A thread that still reads stdin would delay the end of the process.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Starts a gateway that warms up for its first program and follows its configuration.
fn gateway(
    loaded: LoadedConfig,
    watcher: ConfigWatcher,
    stores: Stores,
) -> anyhow::Result<Arc<Gateway>> {
    let downloads = setup::downloads().in_background();
    let gateway = setup::gateway_on(stores, loaded, ServerStart::AtOnce, downloads)?;
    gateway.note_serving();
    let warming = Arc::clone(&gateway);
    tokio::spawn(async move {
        warming.warm_up().await;
        warming.prepared().await;
        system::release_start_memory();
    });
    tokio::spawn(watcher.reload_on_change(Arc::clone(&gateway)));
    Ok(gateway)
}
