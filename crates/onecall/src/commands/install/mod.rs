//! `onecall install` and `onecall uninstall`: add onecall to the configuration of clients, and
//! remove it.

mod installed_command;
mod step;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use onecall_clients::edit::{self, EditError};
use onecall_clients::{
    Client, ClientFileLocation, InstallChange, InstallRecords, InstallRequest, ReadableBy, Scope,
    TextFile, UserEnvironment, has_only_onecall_content,
};

use crate::cli::Global;
use crate::commands::init::{client_names, host};
use crate::commands::note;

use installed_command::InstalledCommand;
use step::{InstallStep, OriginalContent, StepOutcome, apply_steps};

/// What `onecall install` takes.
#[derive(Args, Debug)]
pub(crate) struct InstallArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Remove the servers that onecall bridges from the client's configuration
    #[arg(long)]
    replace: bool,
}

/// Which files, and whether to ask.
#[derive(Args, Debug)]
pub(crate) struct TargetArguments {
    /// The clients to change
    #[arg(required = true, value_name = "CLIENT", value_parser = client_names())]
    clients: Vec<String>,
    /// Change the file of the project in the working directory instead of your own
    #[arg(long)]
    project: bool,
    /// Show the change without making it
    #[arg(long)]
    dry_run: bool,
    /// Change without asking
    #[arg(long, short)]
    yes: bool,
}

/// Adds onecall to the configuration of clients.
pub(crate) fn install(arguments: &InstallArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let installed = InstalledCommand::of(global, arguments.replace)?;
    for_each_client(&arguments.target, |client, host| {
        let args = installed.args.clone();
        let command = installed.command(client);
        let request = InstallRequest {
            command: &command,
            args: &args,
            env: &installed.env,
            variables: &installed.variables,
            bridged: &installed.bridged,
            project: &host.project,
        };
        let locations = locations(host, client, &arguments.target)?;
        let plan = |records: &InstallRecords| installation(&locations, &request, records);
        let outcome = apply_steps(client, &arguments.target, plan)?;
        match outcome {
            StepOutcome::Nothing => {
                note(&format!("{client}: onecall is already installed"));
            }
            StepOutcome::Done => note_next_steps(client, &installed, &locations),
            StepOutcome::Shown | StepOutcome::Refused => {}
        }
        Ok(outcome)
    })
}

/// Tells the user what is left to do.
fn note_next_steps(client: Client, installed: &InstalledCommand, locations: &[ClientFileLocation]) {
    if !installed.variables.is_empty() && client != Client::Codex {
        let names = installed.variables.join(", ");
        note(&format!(
            "Start {client} with these variables set: {names}. Or store their values with \
             `onecall secrets set NAME`"
        ));
    }
    if client == Client::Gemini && !is_allowed(locations) {
        note("Gemini CLI starts only the servers in 'mcp.allowed': add \"onecall\" to it");
    }
    let id = client.id();
    note(&format!("Restart {client} to use it; `onecall uninstall {id}` undoes this"));
}

/// Removes onecall from the configuration of clients.
pub(crate) fn uninstall(arguments: &TargetArguments) -> anyhow::Result<ExitCode> {
    for_each_client(arguments, |client, host| {
        let locations = locations(host, client, arguments)?;
        let outcome = apply_steps(client, arguments, |records| removal(&locations, records))?;
        if outcome == StepOutcome::Nothing {
            note(&format!("{client}: onecall is not installed"));
        }
        Ok(outcome)
    })
}

fn for_each_client(
    arguments: &TargetArguments,
    mut each: impl FnMut(Client, &UserEnvironment<'_>) -> anyhow::Result<StepOutcome>,
) -> anyhow::Result<ExitCode> {
    let environment = &|name: &str| std::env::var(name).ok();
    let host = host(environment)?;
    let mut code = ExitCode::SUCCESS;
    for client in arguments.clients.iter().filter_map(|name| Client::named(name)) {
        if each(client, &host)? == StepOutcome::Refused {
            note(&format!("{client}: nothing was changed"));
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// The locations in a client's configuration that a command changes; onecall is added to the first.
fn locations(
    host: &UserEnvironment<'_>,
    client: Client,
    arguments: &TargetArguments,
) -> anyhow::Result<Vec<ClientFileLocation>> {
    let scope = if arguments.project { Scope::Project } else { Scope::User };
    let mut locations: Vec<ClientFileLocation> =
        host.locations(client).into_iter().filter(|location| location.scope == scope).collect();
    if locations.is_empty() {
        bail!("{client} has no configuration files for projects; leave out --project");
    }
    for location in &mut locations {
        // This client has a folder with one file per server.
        if location.path.to_string_lossy().ends_with(['/', '\\']) {
            location.path = location.path.join("onecall.yaml");
        }
    }
    Ok(locations)
}

/// Whether a client's list of allowed servers contains onecall, or does not exist.
fn is_allowed(locations: &[ClientFileLocation]) -> bool {
    let settings = locations.first().and_then(|location| {
        let file = TextFile::read(&location.path).ok()?;
        edit::read(file.text(), location.section.format).ok()
    });
    let allowed =
        settings.as_ref().and_then(|settings| settings.get("mcp")?.get("allowed")?.as_array());
    allowed.is_none_or(|names| names.iter().any(|name| name == "onecall"))
}

/// The files of these locations, each with its locations, in order.
fn by_file(locations: &[ClientFileLocation]) -> Vec<(PathBuf, Vec<ClientFileLocation>)> {
    let mut files: Vec<(PathBuf, Vec<ClientFileLocation>)> = Vec::new();
    for location in locations {
        match files.iter_mut().find(|(path, _)| *path == location.path) {
            Some((_, known)) => known.push(location.clone()),
            None => files.push((location.path.clone(), vec![location.clone()])),
        }
    }
    files
}

fn installation(
    locations: &[ClientFileLocation],
    request: &InstallRequest<'_>,
    records: &InstallRecords,
) -> anyhow::Result<Vec<InstallStep>> {
    let mut steps = Vec::new();
    for (index, (path, locations)) in by_file(locations).into_iter().enumerate() {
        let file = TextFile::read(&path)?;
        if index > 0 && !file.exists() {
            continue;
        }
        let Some(format) = locations.first().map(|location| location.section.format) else {
            continue;
        };
        let readers = match locations.first().map(|location| location.scope) {
            Some(Scope::Project) => ReadableBy::Everybody,
            _ => ReadableBy::Owner,
        };
        let before = records.get(&path);
        let change = onecall_clients::install(file.text(), &locations, index == 0, request, before)
            .map_err(|error| edit_error(&path, &error))?;
        if let Some(InstallChange { text, mut record }) = change {
            // If others have changed the file since, it is not onecall's alone any more.
            let untouched = before.filter(|before| before.matches_text(file.text()));
            record.created = untouched.map_or(!file.exists(), |before| before.created);
            let original = match before {
                Some(_) => {
                    OriginalContent::Known(untouched.and_then(|before| before.backup.clone()))
                }
                None => OriginalContent::ThisFile,
            };
            steps.push(InstallStep {
                file,
                text: Some(text),
                record: Some(record),
                original,
                format,
                readers,
            });
        }
    }
    Ok(steps)
}

fn removal(
    locations: &[ClientFileLocation],
    records: &InstallRecords,
) -> anyhow::Result<Vec<InstallStep>> {
    let mut steps = Vec::new();
    for (path, locations) in by_file(locations) {
        let file = TextFile::read(&path)?;
        let record = records.get(&path);
        if !file.exists() {
            continue;
        }
        // A file that was not changed since gets exactly its original content back.
        let untouched = record.filter(|record| record.matches_text(file.text()));
        let original = untouched
            .and_then(|record| TextFile::read(record.backup.as_deref()?).ok())
            .filter(TextFile::exists);
        let backup = original.as_ref().map(|original| original.path().to_path_buf());
        let undone = match original {
            Some(original) => Some(original.text().to_owned()),
            None => onecall_clients::uninstall(file.text(), &locations, record)
                .map_err(|error| edit_error(&path, &error))?,
        };
        let Some(text) = undone else { continue };
        let Some(format) = locations.first().map(|location| location.section.format) else {
            continue;
        };
        let was_made = record.is_some_and(|record| record.created);
        let is_empty = has_only_onecall_content(&text, format);
        let text = if was_made && is_empty { None } else { Some(text) };
        let original = match untouched {
            Some(_) => OriginalContent::Known(backup),
            None => OriginalContent::ThisFile,
        };
        steps.push(InstallStep {
            file,
            text,
            record: None,
            original,
            format,
            readers: ReadableBy::Owner,
        });
    }
    Ok(steps)
}

fn edit_error(path: &Path, error: &EditError) -> anyhow::Error {
    let path = path.display();
    match error {
        EditError::Syntax { .. } => {
            anyhow::anyhow!("{path}:{error}\nnothing was changed; correct the file first")
        }
        EditError::NameTaken { name } => anyhow::anyhow!(
            "'{path}' has a server '{name}' that is not onecall; rename it there first"
        ),
        other => anyhow::anyhow!("'{path}': {other}"),
    }
}
