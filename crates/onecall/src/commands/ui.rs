//! `onecall ui`: shows the page for the person who runs it, on this machine only.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use onecall_bridge::ServerStart;
use onecall_core::Secret;
use onecall_login::random_text;
use onecall_server::{HttpServer, HttpSettings, PageOwner, PageSettings};

use crate::cli::{Global, UiArguments};
use crate::commands::login::open;
use crate::commands::note;
use crate::replay::PageReplayer;
use crate::system::user_name;
use crate::{setup, store};

/// Serves the page until a signal arrives.
pub(crate) fn ui(arguments: &UiArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let mut loaded = setup::load(global)?;
    // This process only shows what gateways do, and is none of them.
    loaded.config.fleet = None;
    let key = random_text().context("the system provides no random numbers")?;
    let owner = PageOwner { name: user_name(), key: Secret::new(&key) };
    let page = PageSettings {
        store: store::open(&loaded.config)?,
        public_url: None,
        replayer: Arc::new(PageReplayer::new(&loaded)),
        owner: Some(owner),
    };
    let settings = HttpSettings {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)),
        token: None,
        users: None,
        hosts: Vec::new(),
        origins: Vec::new(),
        drain: Duration::ZERO,
        page: Some(page),
    };
    let runtime = setup::tokio_runtime()?;
    let served = runtime.block_on(async {
        let server = HttpServer::bind(settings)?;
        let downloads = setup::downloads().in_background();
        let gateway = setup::gateway_with(loaded, ServerStart::OnDemand, downloads)?;
        let address = format!("{}enter?key={key}", server.page_url());
        note("The page is at this address, which can be opened once:");
        // If stdout is closed, the browser may still open.
        _ = writeln!(io::stdout(), "{address}");
        _ = io::stdout().flush();
        if !arguments.no_open && !open(&address) {
            note("No browser could be opened; open the address yourself");
        }
        note("Press Ctrl-C to end it");
        server.serve(gateway).await?;
        anyhow::Ok(())
    });
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}
