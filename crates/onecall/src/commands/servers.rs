//! `onecall add`, `onecall remove` and `onecall list`: the servers of the configuration.

use std::process::ExitCode;

use anyhow::{bail, ensure};
use clap::Args;
use onecall_clients::edit::EditError;
use onecall_clients::{Launch, Remote, Server, with_servers, without_server};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::init::how;
use crate::commands::own_file::OwnFile;
use crate::commands::say;
use crate::table::table;
use crate::terminal;

/// What `onecall add` takes.
#[derive(Args, Debug)]
pub(crate) struct AddArguments {
    /// What to call it; its tools are mcp__NAME__*
    name: String,
    /// Where a remote server is
    #[arg(required_unless_present = "command")]
    url: Option<String>,
    /// What starts a local server, and its arguments
    #[arg(last = true, conflicts_with = "url")]
    command: Vec<String>,
    /// A variable for a local server; ${VAR} in it is looked up when it is started
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// Where a local server runs
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// A header for a remote server; ${VAR} in it is looked up when it is reached
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// How a remote server is spoken to
    #[arg(long, value_parser = ["auto", "http", "sse"], conflicts_with = "command")]
    transport: Option<String>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
    /// Do not connect to it
    #[arg(long)]
    no_check: bool,
}

/// Puts a server into the configuration.
pub(crate) fn add(arguments: AddArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let AddArguments { name, force, no_check, .. } = &arguments;
    let (name, force, no_check) = (name.clone(), *force, *no_check);
    ensure!(!name.trim().is_empty(), "a server's name must not be empty");
    ensure!(name != "local", "the name 'local' is reserved for local tools; choose another one");
    let server = server(arguments)?;
    let own = OwnFile::find(global)?;
    let mut text = own.text().to_owned();
    if force {
        match without_server(&text, &name) {
            Ok(without) => text = without,
            Err(EditError::Absent { .. }) => {}
            Err(error) => return Err(own.wrong(&error)),
        }
    }
    let text = with_servers(&text, &[(&server, Vec::new())]).map_err(|error| match error {
        EditError::Taken { name } => anyhow::anyhow!(
            "there is a server '{name}' in {} already; --force replaces it",
            own.path().display()
        ),
        other => own.wrong(&other),
    })?;
    own.save(&text)?;
    say(&format!("added '{name}' to {}", own.path().display()));
    if !server.secrets().is_empty() && own.exists() && own.is_readable_by_others() {
        say(&format!("it holds a secret that others can read: chmod 600 {}", own.path().display()));
    }
    if no_check || own.try_out(&text, std::slice::from_ref(&name))? {
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("it stays in the configuration; `onecall remove {name}` takes it out"));
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
                    "'{url}' is not an http:// or https:// address; a command comes after --, as in \
                     `onecall add {name} -- {url}`"
                );
            }
            let transport = match transport.as_deref() {
                Some("http") => Remote::Http,
                Some("sse") => Remote::Sse,
                _ => Remote::Auto,
            };
            Launch::Remote { url, transport, headers: header }
        }
        (None, Some(command)) => Launch::Command { command, args: words.collect(), env, cwd },
        (None, None) => bail!("say what starts the server, as in `onecall add {name} -- COMMAND`"),
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

/// Takes a server out of the configuration.
pub(crate) fn remove(name: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let own = OwnFile::find(global)?;
    let text = without_server(own.text(), name).map_err(|error| match error {
        EditError::Absent { name } => {
            let names: Vec<String> =
                own.servers().unwrap_or_default().into_iter().map(|server| server.name).collect();
            let others = match names.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there is {}", names.join(", ")),
            };
            anyhow::anyhow!("there is no server '{name}' in {}; {others}", own.path().display())
        }
        other => own.wrong(&other),
    })?;
    own.save(&text)?;
    say(&format!("removed '{name}' from {}", own.path().display()));
    Ok(ExitCode::SUCCESS)
}

/// Shows the servers of the configuration, without connecting to them.
pub(crate) fn list(is_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let own = OwnFile::find(global)?;
    let servers = own.servers()?;
    if is_json {
        let servers: Vec<Value> = servers.iter().map(described).collect();
        let described = json!({ "file": own.path(), "servers": servers });
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&described)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    if servers.is_empty() {
        say(&match own.exists() {
            true => format!("there are no servers in {}", own.path().display()),
            false => "there is no configuration yet; `onecall init` makes one".to_owned(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["SERVER", "TRANSPORT", "HOW"].map(str::to_owned)];
    for server in &servers {
        let name = match server.disabled {
            true => format!("{} (disabled)", server.name),
            false => server.name.clone(),
        };
        rows.push([name, transport(server).to_owned(), how(server)]);
    }
    terminal::print(&table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// A server for programs, with names of variables and headers but not their values.
fn described(server: &Server) -> Value {
    let names =
        |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut shown = server.clone();
    let secrets = shown.secrets();
    shown.refer_to(&secrets);
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
        Launch::Remote { transport: Remote::Auto, .. } => "auto",
        Launch::Remote { transport: Remote::Http, .. } => "http",
        Launch::Remote { transport: Remote::Sse, .. } => "sse",
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be NAME=VALUE".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("it must be 'NAME: VALUE'".to_owned()),
    }
}
