//! `onecall install` and `onecall uninstall`: add onecall to the configuration of clients, and
//! remove it.

mod offer;
mod step;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use onecall_clients::edit::{self, EditError};
use onecall_clients::{
    Change, Client, Host, Place, Readers, Records, Request, Scope, TextFile, is_left_empty,
};

use crate::cli::Global;
use crate::commands::init::{client_names, host};
use crate::commands::note;

use offer::Offer;
use step::{Original, Outcome, Step, carry_out};

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
    let offer = Offer::of(global, arguments.replace)?;
    for_each_client(&arguments.target, |client, host| {
        let args = offer.args.clone();
        let command = offer.command(client);
        let request = Request {
            command: &command,
            args: &args,
            env: &offer.env,
            variables: &offer.variables,
            bridged: &offer.bridged,
            project: &host.project,
        };
        let places = places(host, client, &arguments.target)?;
        let plan = |records: &Records| installation(&places, &request, records);
        let is_done = carry_out(client, &arguments.target, plan)?;
        match is_done {
            Outcome::Nothing => {
                note(&format!("{client}: onecall is already installed"));
            }
            Outcome::Done => say_what_is_left(client, &offer, &places),
            Outcome::Shown | Outcome::Refused => {}
        }
        Ok(is_done)
    })
}

/// Tells the user what is left to do.
fn say_what_is_left(client: Client, offer: &Offer, places: &[Place]) {
    if !offer.variables.is_empty() && client != Client::Codex {
        let names = offer.variables.join(", ");
        note(&format!(
            "Start {client} with these variables set: {names}. Or store their values with \
             `onecall secrets set NAME`"
        ));
    }
    if client == Client::Gemini && !is_allowed(places) {
        note("Gemini CLI starts only the servers in 'mcp.allowed': add \"onecall\" to it");
    }
    let id = client.id();
    note(&format!("Restart {client} to use it; `onecall uninstall {id}` undoes this"));
}

/// Removes onecall from the configuration of clients.
pub(crate) fn uninstall(arguments: &TargetArguments) -> anyhow::Result<ExitCode> {
    for_each_client(arguments, |client, host| {
        let places = places(host, client, arguments)?;
        let is_done = carry_out(client, arguments, |records| removal(&places, records))?;
        if is_done == Outcome::Nothing {
            note(&format!("{client}: onecall is not installed"));
        }
        Ok(is_done)
    })
}

fn for_each_client(
    arguments: &TargetArguments,
    mut each: impl FnMut(Client, &Host<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<ExitCode> {
    let environment = &|name: &str| std::env::var(name).ok();
    let host = host(environment)?;
    let mut code = ExitCode::SUCCESS;
    for client in arguments.clients.iter().filter_map(|name| Client::named(name)) {
        if each(client, &host)? == Outcome::Refused {
            note(&format!("{client}: nothing was changed"));
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// The places in a client's configuration that a command changes; onecall is added to the first.
fn places(
    host: &Host<'_>,
    client: Client,
    arguments: &TargetArguments,
) -> anyhow::Result<Vec<Place>> {
    let scope = if arguments.project { Scope::Project } else { Scope::User };
    let mut places: Vec<Place> =
        host.places(client).into_iter().filter(|place| place.scope == scope).collect();
    if places.is_empty() {
        bail!("{client} has no configuration files for projects; leave out --project");
    }
    for place in &mut places {
        // This client has a folder with one file per server.
        if place.path.to_string_lossy().ends_with(['/', '\\']) {
            place.path = place.path.join("onecall.yaml");
        }
    }
    Ok(places)
}

/// Whether a client's list of allowed servers contains onecall, or does not exist.
fn is_allowed(places: &[Place]) -> bool {
    let settings = places.first().and_then(|place| {
        let file = TextFile::read(&place.path).ok()?;
        edit::read(file.text(), place.spot.format).ok()
    });
    let allowed =
        settings.as_ref().and_then(|settings| settings.get("mcp")?.get("allowed")?.as_array());
    allowed.is_none_or(|names| names.iter().any(|name| name == "onecall"))
}

/// The files of these places, each with its places, in order.
fn by_file(places: &[Place]) -> Vec<(PathBuf, Vec<Place>)> {
    let mut files: Vec<(PathBuf, Vec<Place>)> = Vec::new();
    for place in places {
        match files.iter_mut().find(|(path, _)| *path == place.path) {
            Some((_, known)) => known.push(place.clone()),
            None => files.push((place.path.clone(), vec![place.clone()])),
        }
    }
    files
}

fn installation(
    places: &[Place],
    request: &Request<'_>,
    records: &Records,
) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (index, (path, places)) in by_file(places).into_iter().enumerate() {
        let file = TextFile::read(&path)?;
        if index > 0 && !file.exists() {
            continue;
        }
        let Some(format) = places.first().map(|place| place.spot.format) else { continue };
        let readers = match places.first().map(|place| place.scope) {
            Some(Scope::Project) => Readers::Everybody,
            _ => Readers::Owner,
        };
        let before = records.of(&path);
        let change = onecall_clients::install(file.text(), &places, index == 0, request, before)
            .map_err(|error| wrong(&path, &error))?;
        if let Some(Change { text, mut record }) = change {
            // If others have changed the file since, it is not onecall's alone any more.
            let untouched = before.filter(|before| before.is_of(file.text()));
            record.created = untouched.map_or(!file.exists(), |before| before.created);
            let original = match before {
                Some(_) => Original::Known(untouched.and_then(|before| before.backup.clone())),
                None => Original::ThisFile,
            };
            steps.push(Step {
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

fn removal(places: &[Place], records: &Records) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (path, places) in by_file(places) {
        let file = TextFile::read(&path)?;
        let record = records.of(&path);
        if !file.exists() {
            continue;
        }
        // A file that was not changed since gets exactly its original content back.
        let untouched = record.filter(|record| record.is_of(file.text()));
        let original = untouched
            .and_then(|record| TextFile::read(record.backup.as_deref()?).ok())
            .filter(TextFile::exists);
        let backup = original.as_ref().map(|original| original.path().to_path_buf());
        let undone = match original {
            Some(original) => Some(original.text().to_owned()),
            None => onecall_clients::uninstall(file.text(), &places, record)
                .map_err(|error| wrong(&path, &error))?,
        };
        let Some(text) = undone else { continue };
        let Some(format) = places.first().map(|place| place.spot.format) else { continue };
        let was_made = record.is_some_and(|record| record.created);
        let is_empty = is_left_empty(&text, format);
        let text = if was_made && is_empty { None } else { Some(text) };
        let original = match untouched {
            Some(_) => Original::Known(backup),
            None => Original::ThisFile,
        };
        steps.push(Step { file, text, record: None, original, format, readers: Readers::Owner });
    }
    Ok(steps)
}

fn wrong(path: &Path, error: &EditError) -> anyhow::Error {
    let path = path.display();
    match error {
        EditError::Syntax { .. } => {
            anyhow::anyhow!("{path}:{error}\nnothing was changed; correct the file first")
        }
        EditError::Taken { name } => anyhow::anyhow!(
            "'{path}' has a server '{name}' that is not onecall; rename it there first"
        ),
        other => anyhow::anyhow!("'{path}': {other}"),
    }
}
