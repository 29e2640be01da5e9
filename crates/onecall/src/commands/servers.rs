//! `onecall add`, `onecall remove` and `onecall list`: the servers in the configuration.

use std::process::ExitCode;

use anyhow::{bail, ensure};
use clap::Args;
use onecall_clients::edit::EditError;
use onecall_clients::{HttpTransport, Launch, Server, with_servers, without_server};
use onecall_core::text::shell_word;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::editable_config::EditableConfig;
use crate::commands::init::launch_text;
use crate::commands::note;
use crate::logs::LogFolder;
use crate::table::table;
use crate::{listings, terminal};

/// What `onecall add` takes.
#[derive(Args, Debug)]
pub(crate) struct AddArguments {
    /// Name of the server; its tools are called mcp__NAME__*
    name: String,
    /// Address of a remote server
    #[arg(required_unless_present = "command")]
    url: Option<String>,
    /// Command that starts a local server, and its arguments
    #[arg(last = true, conflicts_with = "url")]
    command: Vec<String>,
    /// Environment variable for a local server; ${VAR} in it is replaced when the server starts
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// Working directory of a local server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// Header for a remote server; ${VAR} in it is replaced when onecall connects
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// Transport of a remote server
    #[arg(long, value_parser = ["auto", "http", "sse"], conflicts_with = "command")]
    transport: Option<String>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
    /// Do not connect to the server
    #[arg(long)]
    no_check: bool,
}

/// Adds a server to the configuration.
pub(crate) fn add(arguments: AddArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let AddArguments { name, force, no_check, .. } = &arguments;
    let (name, force, no_check) = (name.clone(), *force, *no_check);
    ensure!(!name.trim().is_empty(), "a server's name must not be empty");
    ensure!(name != "local", "the name 'local' is reserved for local tools; choose another one");
    let server = server(arguments)?;
    let own = EditableConfig::find(global)?;
    let mut text = own.text().to_owned();
    if force {
        match without_server(&text, &name) {
            Ok(without) => text = without,
            Err(EditError::NotFound { .. }) => {}
            Err(error) => return Err(own.edit_error(&error)),
        }
    }
    let text = with_servers(&text, &[(&server, Vec::new())]).map_err(|error| match error {
        EditError::NameTaken { name } => anyhow::anyhow!(
            "there is already a server '{name}' in {}; --force replaces it",
            own.path().display()
        ),
        other => own.edit_error(&other),
    })?;
    own.save(&text)?;
    note(&format!("Added '{name}' to {}", own.path().display()));
    if !server.secrets().is_empty() && own.exists() && own.is_readable_by_others() {
        note(&format!(
            "Other users can read the secrets in it: run `chmod 600 {}`",
            own.shell_word()
        ));
    }
    if no_check || own.test_servers(&text, std::slice::from_ref(&name))? {
        return Ok(ExitCode::SUCCESS);
    }
    note(&format!(
        "The server stays in the configuration; to remove it, run `onecall remove {}`",
        shell_word(&name)
    ));
    Ok(ExitCode::FAILURE)
}

fn server(arguments: AddArguments) -> anyhow::Result<Server> {
    let AddArguments { name, url, command, env, cwd, header, transport, .. } = arguments;
    let mut words = command.into_iter();
    let launch = match (url, words.next()) {
        (Some(url), _) => {
            let is_web = url.starts_with("http://") || url.starts_with("https://");
            if !is_web && !url.contains("${") {
                bail!(
                    "'{url}' is not an http:// or https:// address; if it is a command, write -- in \
                     front of it, as in `onecall add {} -- {}`",
                    shell_word(&name),
                    shell_word(&url)
                );
            }
            let transport = match transport.as_deref() {
                Some("http") => HttpTransport::Http,
                Some("sse") => HttpTransport::Sse,
                _ => HttpTransport::Auto,
            };
            Launch::Remote { url, transport, headers: header }
        }
        (None, Some(command)) => Launch::Command { command, args: words.collect(), env, cwd },
        (None, None) => bail!(
            "give the command that starts the server, as in `onecall add {} COMMAND`",
            shell_word(&name)
        ),
    };
    Ok(Server {
        name,
        launch,
        disabled: false,
        connect_timeout: None,
        call_timeout: None,
        notes: Vec::new(),
    })
}

/// Removes servers from the configuration, all of them or none.
pub(crate) fn remove(names: &[String], global: &Global) -> anyhow::Result<ExitCode> {
    let own = EditableConfig::find(global)?;
    let mut text = own.text().to_owned();
    for name in distinct(names) {
        text = without_server(&text, name).map_err(|error| not_found(&own, error))?;
    }
    own.save(&text)?;
    listings::remove(distinct(names), global);
    let logs = LogFolder::of_user();
    for name in distinct(names) {
        logs.iter().for_each(|logs| logs.remove_server(name));
        note(&format!("Removed '{name}' from {}", own.path().display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The names from the command line without duplicates.
pub(super) fn distinct(names: &[String]) -> impl Iterator<Item = &str> {
    let is_first =
        |(at, name): &(usize, &String)| names.iter().position(|it| it == *name) == Some(*at);
    names.iter().enumerate().filter(is_first).map(|(_, name)| name.as_str())
}

/// The error for a server that does not exist, with the names of those that do.
pub(super) fn not_found(own: &EditableConfig, error: EditError) -> anyhow::Error {
    match error {
        EditError::NotFound { name } => {
            let names: Vec<String> =
                own.servers().unwrap_or_default().into_iter().map(|server| server.name).collect();
            let others = match names.is_empty() {
                true => "it has no servers".to_owned(),
                false => format!("its servers: {}", names.join(", ")),
            };
            anyhow::anyhow!("there is no server '{name}' in {}; {others}", own.path().display())
        }
        other => own.edit_error(&other),
    }
}

/// Lists the servers of the configuration, without connecting to them.
pub(crate) fn list(is_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let own = EditableConfig::current(global)?;
    let servers = own.servers()?;
    if is_json {
        let servers: Vec<Value> = servers.iter().map(server_json).collect();
        let described = json!({ "file": own.path(), "servers": servers });
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&described)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    if servers.is_empty() {
        if own.exists() {
            note(&format!("There are no servers in {}", own.path().display()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["SERVER", "TRANSPORT", "HOW"].map(str::to_owned)];
    for server in &servers {
        let name = match server.disabled {
            true => format!("{} (disabled)", server.name),
            false => server.name.clone(),
        };
        rows.push([name, transport(server).to_owned(), launch_text(server)]);
    }
    terminal::print(&table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the names of the servers, one per line, without connecting to them.
pub(crate) fn names(global: &Global) -> anyhow::Result<ExitCode> {
    let servers = EditableConfig::current(global)?.servers()?;
    let names = servers.iter().filter(|server| !server.name.contains(['\n', '\r']));
    terminal::print(&names.map(|server| format!("{}\n", server.name)).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// A server as JSON, with the names of variables and headers but without their values.
fn server_json(server: &Server) -> Value {
    let names =
        |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut shown = server.clone();
    let secrets = shown.secrets();
    shown.replace_secrets(&secrets);
    let mut described = json!({
        "name": server.name, "transport": transport(server), "disabled": server.disabled,
    });
    let more = match &shown.launch {
        Launch::Command { command, args, env, cwd } => {
            json!({ "command": command, "args": args, "env": names(env), "cwd": cwd })
        }
        Launch::Remote { url, headers, .. } => json!({ "url": url, "headers": names(headers) }),
    };
    if let (Value::Object(described), Value::Object(more)) = (&mut described, more) {
        described.extend(more);
    }
    described
}

fn transport(server: &Server) -> &'static str {
    match &server.launch {
        Launch::Command { .. } => "stdio",
        Launch::Remote { transport: HttpTransport::Auto, .. } => "auto",
        Launch::Remote { transport: HttpTransport::Http, .. } => "http",
        Launch::Remote { transport: HttpTransport::Sse, .. } => "sse",
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("must be 'NAME: VALUE'".to_owned()),
    }
}
