//! `onecall init` and `onecall import`: import the servers of other clients.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dialoguer::MultiSelect;
use dialoguer::console::Term;
use onecall_clients::{
    Client, DiscoveredServer, Discovery, Launch, Os, Server, UserEnvironment, with_servers,
};

use crate::cli::Global;
use crate::commands::editable_config::{EditableConfig, counted, home, require_terminal};
use crate::commands::imported_secrets::{SecretDecision, SecretsArguments, decide_secrets};
use crate::commands::note;
use crate::table::table;
use crate::terminal;

/// What `onecall init` takes.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// Read only this client's files; may be repeated
    #[arg(long, value_name = "CLIENT", value_parser = client_names())]
    client: Vec<String>,
    #[command(flatten)]
    options: ImportOptions,
}

/// What `onecall import` takes.
#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// Configuration files of MCP clients: JSON, TOML or YAML
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The client that the files belong to, if their names and contents do not show it
    #[arg(long, value_name = "CLIENT", value_parser = client_names())]
    client: Option<String>,
    #[command(flatten)]
    options: ImportOptions,
}

/// What both take.
#[derive(Args, Debug)]
struct ImportOptions {
    /// Import every server without asking
    #[arg(long, short)]
    yes: bool,
    /// Write to this file instead of your configuration
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretsArguments,
    /// Do not connect to the servers
    #[arg(long)]
    no_check: bool,
}

/// The names of clients on the command line.
pub(crate) fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Client::NAMES.map(|(name, ..)| name))
}

/// Imports servers from the configuration files of clients.
pub(crate) fn init(arguments: &InitArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let chosen: Vec<Client> =
        arguments.client.iter().filter_map(|name| Client::named(name)).collect();
    let every = Client::NAMES.map(|(.., client)| client);
    let clients = if chosen.is_empty() { every.as_slice() } else { chosen.as_slice() };
    let executable = executable();
    let environment = &|name: &str| std::env::var(name).ok();
    let host = host(environment)?;
    let discovery = Discovery::of_clients(&host, clients, executable.as_deref());
    let place = if chosen.is_empty() {
        "the files of the clients that onecall knows".to_owned()
    } else {
        let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
        format!("the files of {}", names.join(", "))
    };
    import_servers(discovery, &place, &arguments.options, global)
}

/// Imports servers from the given files.
pub(crate) fn import(arguments: &ImportArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let executable = executable();
    let environment = &|name: &str| std::env::var(name).ok();
    let host = host(environment)?;
    let client = arguments.client.as_deref().and_then(Client::named);
    let mut discovery = Discovery::default();
    for file in &arguments.files {
        discovery.add_file(file, client, &host, executable.as_deref());
    }
    if discovery.servers.is_empty() && !discovery.problems.is_empty() {
        bail!("{}", discovery.problems.join("\n"));
    }
    import_servers(discovery, "these files", &arguments.options, global)
}

/// The system and folders of this process.
pub(crate) fn host<'h>(
    environment: &'h dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<UserEnvironment<'h>> {
    let project = std::env::current_dir().context("cannot find the working directory")?;
    Ok(UserEnvironment {
        os: Os::CURRENT,
        environment,
        home: home()?.to_string_lossy().into_owned(),
        project: project.to_string_lossy().into_owned(),
    })
}

fn executable() -> Option<String> {
    Some(std::env::current_exe().ok()?.to_string_lossy().into_owned())
}

fn import_servers(
    discovery: Discovery,
    place: &str,
    arguments: &ImportOptions,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let own = match &arguments.output {
        Some(path) => EditableConfig::at(path)?,
        None => EditableConfig::find(global)?,
    };
    discovery.problems.iter().for_each(|problem| note(&format!("warning: {problem}")));
    let known = own.servers()?;
    let is_new =
        |found: &DiscoveredServer| !known.iter().any(|known| known.is_same_server(&found.server));
    let (mut new, old): (Vec<DiscoveredServer>, Vec<DiscoveredServer>) =
        discovery.servers.into_iter().partition(is_new);
    if !old.is_empty() {
        let names: Vec<_> = old.iter().map(|found| found.server.name.as_str()).collect();
        note(&format!("Already in {}: {}", own.path().display(), names.join(", ")));
    }
    if new.is_empty() {
        note(&format!("Found no other MCP servers in {place}"));
        if old.is_empty() && !own.exists() {
            note("Add one with `onecall add NAME COMMAND` or `onecall add NAME URL`");
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Renamed first, so that servers are written under the names that are shown.
    rename(&mut new, &known);
    terminal::print(&overview(&new))?;
    let mut chosen = choose(new, arguments)?;
    if chosen.is_empty() {
        note("You chose no server; nothing was written");
        return Ok(ExitCode::FAILURE);
    }
    let decision = if arguments.yes { SecretDecision::LeaveOut } else { SecretDecision::AskUser };
    let copies_secrets = decide_secrets(&mut chosen, own.path(), &arguments.secrets, decision)?;
    write(&chosen, &own, copies_secrets, arguments)
}

/// A table of the servers that were found, with their commands and where they come from.
fn overview(found: &[DiscoveredServer]) -> String {
    let mut rows = vec![["SERVER", "HOW", "FROM"].map(str::to_owned)];
    for item in found {
        let name = match item.server.disabled {
            true => format!("{} (disabled)", item.server.name),
            false => item.server.name.clone(),
        };
        rows.push([name, launch_text(&item.server), origins(item)]);
    }
    table(&rows)
}

/// The command or the URL, without secrets.
pub(crate) fn launch_text(server: &Server) -> String {
    let mut shown = server.clone();
    let secrets = shown.secrets();
    shown.replace_secrets(&secrets);
    match &shown.launch {
        Launch::Command { command, args, .. } => {
            let words = std::iter::once(command).chain(args).map(|word| shell_word(word));
            words.collect::<Vec<_>>().join(" ")
        }
        Launch::Remote { url, .. } => url.clone(),
    }
}

fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=${}~".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn origins(found: &DiscoveredServer) -> String {
    let origin = |origin: &onecall_clients::ServerOrigin| match origin.is_shared {
        true => format!("{} (this project)", origin.client),
        false => origin.client.to_string(),
    };
    let mut names: Vec<String> = found.origins.iter().map(origin).collect();
    names.dedup();
    names.join(", ")
}

fn choose(
    found: Vec<DiscoveredServer>,
    arguments: &ImportOptions,
) -> anyhow::Result<Vec<DiscoveredServer>> {
    if arguments.yes {
        return Ok(found);
    }
    require_terminal("pass --yes to import all of them")?;
    let items = found.iter().map(|found| {
        // Servers from a project's files were chosen by others, so they are not preselected.
        let is_own = found.origins.iter().any(|origin| !origin.is_shared);
        let label = format!("{}  {}", found.server.name, origins(found));
        (terminal::neutralise(&label), is_own && !found.server.disabled)
    });
    // The list hides the cursor, which must be shown again after Ctrl-C.
    terminal::exit_on_interrupt();
    let chosen = MultiSelect::new()
        .with_prompt(
            "Which servers should onecall bridge? (arrows move, space selects, enter confirms)",
        )
        .items_checked(items)
        .report(false)
        .interact_on_opt(&Term::stderr())
        .inspect_err(|dialoguer::Error::IO(error)| {
            if error.kind() == io::ErrorKind::Interrupted {
                terminal::exit_interrupted();
            }
        })
        .context("cannot ask which servers to import")?
        .unwrap_or_default();
    let is_chosen =
        |(index, found): (usize, DiscoveredServer)| chosen.contains(&index).then_some(found);
    Ok(found.into_iter().enumerate().filter_map(is_chosen).collect())
}

/// Renames servers that have the name of a different server in the file.
fn rename(servers: &mut [DiscoveredServer], known: &[Server]) {
    let mut taken: Vec<String> = known.iter().map(|server| server.name.clone()).collect();
    for found in servers {
        let name = found.server.name.clone();
        let client = found.origins.first().map_or("client", |origin| origin.client.id());
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let candidates = [name.clone(), format!("{name}-{client}")].into_iter().chain(numbered);
        let free = candidates.into_iter().find(|name| !taken.contains(name));
        found.server.name = free.unwrap_or(name);
        taken.push(found.server.name.clone());
    }
}

fn write(
    chosen: &[DiscoveredServer],
    own: &EditableConfig,
    copies_secrets: bool,
    arguments: &ImportOptions,
) -> anyhow::Result<ExitCode> {
    let comments = |found: &DiscoveredServer| {
        let mut lines = vec![format!("from {}", origins(found))];
        lines.extend(found.server.notes.iter().map(|note| format!("note: {note}")));
        lines.iter().map(|line| line.replace(['\n', '\r'], " ")).collect()
    };
    let servers: Vec<_> = chosen.iter().map(|found| (&found.server, comments(found))).collect();
    let text = with_servers(own.text(), &servers).map_err(|error| own.edit_error(&error))?;
    own.save(&text)?;
    let verb = if own.exists() { "Added" } else { "Wrote" };
    note(&format!("{verb} {} to {}", counted(chosen.len(), "server"), own.path().display()));
    for DiscoveredServer { server, .. } in chosen {
        server.notes.iter().for_each(|it| note(&format!("Note on '{}': {it}", server.name)));
    }
    if copies_secrets && own.exists() && own.is_readable_by_others() {
        note(&format!(
            "Other users can read the secrets in it: run `chmod 600 {}`",
            own.shell_word()
        ));
    }
    let names: Vec<String> = chosen.iter().map(|found| found.server.name.clone()).collect();
    let is_fine = arguments.no_check || own.test_servers(&text, &names)?;
    note("Next: run `onecall install CLIENT` to add onecall to your agent's client");
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
