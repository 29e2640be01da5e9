//! `onecall login` and `onecall logout`: the user's login to a remote server.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use onecall_bridge::probe_auth_requirement;
use onecall_config::{Config, ServerConfig};
use onecall_core::UserName;
use onecall_login::{
    IssuerTrust, LoginError, LoginGrant, LogoutOutcome, PendingLogin, log_out, log_out_user,
};

use crate::cli::Global;
use crate::commands::{note, pin, say};
use crate::terminal::{EXIT_INTERRUPTED, neutralise};
use crate::{listings, setup, user_vault};

/// Commands that open a URL on desktops.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Whether to open the URL in a browser, or only to print it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    Open,
    None,
}

/// Logs in to a server.
pub(crate) fn login(
    name: &str,
    browser: Browser,
    seconds: u64,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let vault = user_vault::with_shared_logins(&config);
    let server = find(name, config)?;
    let limit = Duration::from_secs(seconds);
    let show = |address: &str| show(name, address, browser);
    let runtime = setup::tokio_runtime()?;
    let probe = probe_auth_requirement(&server);
    let pending = match runtime.block_on(PendingLogin::prepare(&server, vault.as_ref(), probe)) {
        Ok(pending) => pending,
        Err(error) => return failed(error),
    };
    let Some(trust) = trust(&pending)? else {
        note("Not logged in; nothing was changed");
        return Ok(ExitCode::FAILURE);
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = pending.complete(trust, limit, show) => Some(outcome),
            _ = tokio::signal::ctrl_c() => None,
        }
    });
    match outcome {
        Some(Ok(granted)) => {
            // Another account may have other tools.
            listings::remove([name], global);
            note(&success_text(name, &granted));
            Ok(ExitCode::SUCCESS)
        }
        Some(Err(error)) => failed(error),
        None => {
            say("Interrupted; nothing was changed");
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
    }
}

/// Asks the user about everything suspicious in the login; `None` if the user declines. Without a
/// terminal only the configuration decides.
fn trust(pending: &PendingLogin) -> anyhow::Result<Option<IssuerTrust>> {
    let security_warnings = pending.security_warnings();
    if security_warnings.is_empty() || !io::stdin().is_terminal() {
        return Ok(Some(IssuerTrust::Configuration));
    }
    for warning in security_warnings {
        say(&format!("warning: {}", neutralise(&warning.to_string())));
        if !pin::confirm("Log in anyway?")? {
            return Ok(None);
        }
    }
    Ok(Some(IssuerTrust::User))
}

/// Logs out of a server: the person who runs this, or a user of a gateway.
pub(crate) fn logout(
    name: &str,
    user: Option<&UserName>,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let runtime = setup::tokio_runtime()?;
    let outcome = match user {
        None => {
            let config = setup::load(global)?.config;
            let vault = user_vault::with_shared_logins(&config);
            runtime.block_on(log_out(&find(name, config)?, vault.as_ref()))
        }
        Some(user) => {
            let config = setup::read(global)?.config;
            let vault = user_vault::open(&config)?;
            runtime.block_on(log_out_user(&find(name, config)?, user, &vault))
        }
    };
    match outcome {
        Ok(LogoutOutcome::NotLoggedIn) => {
            let who = user.map_or("You were".to_owned(), |user| format!("User {user} was"));
            note(&format!("{who} not logged in to {name}"));
        }
        Ok(LogoutOutcome::LoggedOut { not_revoked: None }) => {
            note(&format!("Logged out of {name}"));
        }
        Ok(LogoutOutcome::LoggedOut { not_revoked: Some(why) }) => {
            note(&format!("Logged out of {name}; its tokens stay valid until they expire: {why}"));
        }
        Err(error) => return failed(error),
    }
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str, config: Config) -> anyhow::Result<ServerConfig> {
    let servers = config.servers;
    let names: Vec<String> = servers.iter().map(|server| server.name.to_string()).collect();
    match servers.into_iter().find(|server| server.name.as_str() == name) {
        Some(server) => Ok(server),
        None if names.is_empty() => {
            bail!("there is no server '{name}': the configuration has no servers")
        }
        None => bail!("there is no server '{name}'; configured servers: {}", names.join(", ")),
    }
}

/// Errors in the configuration are usage errors; others may not occur again.
fn failed(error: LoginError) -> anyhow::Result<ExitCode> {
    match error {
        LoginError::NotRemote { .. }
        | LoginError::Configured { .. }
        | LoginError::NotAsked { .. } => Err(error).context("there is nothing to log in to"),
        error => {
            say(&format!("error: {}", neutralise(&error.to_string())));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn show(name: &str, address: &str, browser: Browser) {
    note(&format!("To log in to {name}, visit this address in a browser on this machine:"));
    // If stdout is closed, the browser may still open.
    _ = writeln!(io::stdout(), "{address}");
    _ = io::stdout().flush();
    if browser == Browser::Open && open(address) {
        note("Your browser should show it already. Waiting for the login to finish …");
    } else {
        note("Waiting for the login to finish …");
    }
}

/// Opens a URL in the user's browser; returns whether a command for that could be started.
pub(super) fn open(address: &str) -> bool {
    let chosen = std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty());
    let chosen = chosen.iter().flat_map(|browsers| browsers.split(':'));
    chosen.chain(OPENERS).any(|opener| {
        // `$BROWSER` may contain arguments, with `%s` for the URL.
        let mut words = opener.split_ascii_whitespace();
        let Some(program) = words.next() else { return false };
        let mut command = Command::new(program);
        let mut is_named = false;
        for word in words {
            is_named |= word.contains("%s");
            command.arg(word.replace("%s", address));
        }
        if !is_named {
            command.arg(address);
        }
        // The command is not waited for, because it may run as long as the browser.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    })
}

fn success_text(name: &str, granted: &LoginGrant) -> String {
    let mut text = format!("Logged in to {name}");
    if !granted.scopes.is_empty() {
        text.push_str(&format!(" ({})", neutralise(&granted.scopes.join(" "))));
    }
    if !granted.is_renewable {
        text.push_str("; this login does not renew itself and ends when its token expires");
    }
    text
}
