//! `onecall install` and `onecall uninstall`: onecall in the configuration of clients.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use onecall_clients::edit::EditError;
use onecall_clients::{
    Change, Client, FileError, Format, Host, Place, Readers, Record, Records, Request, Scope,
    Server, TextFile, is_left_empty, own_servers, secrets_in, variables,
};
use onecall_config::Surroundings;

use crate::claude_code;
use crate::cli::Global;
use crate::commands::init::{client_names, host};
use crate::commands::own_file::must_be_able_to_ask;
use crate::commands::{pin, say};
use crate::difference::unified;
use crate::{setup, terminal};

/// How often a change is made anew because a client has written its file meanwhile.
const TRIES: usize = 3;

/// What `onecall install` takes.
#[derive(Args, Debug)]
pub(crate) struct InstallArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Take the servers that onecall bridges out of the client's configuration
    #[arg(long)]
    replace: bool,
}

/// Which files, and whether to ask.
#[derive(Args, Debug)]
pub(crate) struct TargetArguments {
    /// The clients
    #[arg(required = true, value_name = "CLIENT", value_parser = client_names())]
    clients: Vec<String>,
    /// Change the file of the project in the working directory, not the user's
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// A file that is to change.
struct Step {
    file: TextFile,
    /// What it is to hold; nothing if it is to go.
    text: Option<String>,
    record: Option<Record>,
    format: Format,
    /// Who may read it if it is new.
    readers: Readers,
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
            variables: &offer.variables,
            bridged: &offer.bridged,
            project: &host.project,
        };
        let places = places(host, client, &arguments.target)?;
        let plan = |records: &Records| installation(&places, &request, records);
        let is_done = carry_out(client, &arguments.target, plan)?;
        if is_done == Outcome::Nothing {
            say(&format!("{client}: onecall is there already, nothing to change"));
        }
        if is_done == Outcome::Done {
            let unset: Vec<_> = offer.variables.iter().map(String::as_str).collect();
            if !unset.is_empty() && client != Client::Codex {
                say(&format!(
                    "{client} must be started with these variables set: {}",
                    unset.join(", ")
                ));
            }
            say(&format!(
                "restart {client} to use it; `onecall uninstall {}` undoes this",
                client.id()
            ));
        }
        Ok(is_done)
    })
}

/// Takes onecall out of the configuration of clients.
pub(crate) fn uninstall(arguments: &TargetArguments) -> anyhow::Result<ExitCode> {
    for_each_client(arguments, |client, host| {
        let places = places(host, client, arguments)?;
        let is_done = carry_out(client, arguments, |records| removal(&places, records))?;
        if is_done == Outcome::Nothing {
            say(&format!("{client}: onecall is not there, nothing to change"));
        }
        Ok(is_done)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Nothing,
    Shown,
    Refused,
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
            say(&format!("{client}: nothing was changed"));
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// What is installed, and from where.
struct Offer {
    executable: PathBuf,
    is_on_path: bool,
    args: Vec<String>,
    variables: Vec<String>,
    bridged: Vec<Server>,
}

impl Offer {
    fn of(global: &Global, replace: bool) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let located = onecall_config::locate(global.config.as_deref(), &surroundings)?;
        located.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        let executable = setup::this_executable()?;
        let mut offer = Self {
            is_on_path: is_on_path(&executable, &surroundings),
            executable,
            args: vec!["serve".to_owned()],
            variables: Vec::new(),
            bridged: Vec::new(),
        };
        let Some(found) = located.found else {
            if replace {
                bail!(
                    "there is no configuration whose servers could be moved; `onecall init` makes one"
                );
            }
            say(
                "there is no configuration yet, so onecall will bridge no servers; `onecall init` makes one",
            );
            return Ok(offer);
        };
        let path = std::path::absolute(&found.path).context("cannot find the configuration")?;
        let text = String::from_utf8_lossy(&found.bytes).into_owned();
        let servers =
            own_servers(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
        for name in servers
            .iter()
            .filter(|server| !server.disabled)
            .flat_map(Server::texts)
            .flat_map(variables)
        {
            if !offer.variables.iter().any(|known| known == name) {
                offer.variables.push(name.to_owned());
            }
        }
        let path =
            path.to_str().context("the configuration's path is not valid UTF-8; rename it")?;
        offer.args.extend(["--config".to_owned(), path.to_owned()]);
        offer.bridged = if replace { servers } else { Vec::new() };
        Ok(offer)
    }

    /// By its name where a shell finds it; editors are started with another search path.
    fn command(&self, client: Client) -> String {
        match self.is_on_path && client.is_started_in_shell() {
            true => "onecall".to_owned(),
            false => self.executable.to_string_lossy().into_owned(),
        }
    }
}

fn is_on_path(executable: &Path, surroundings: &Surroundings<'_>) -> bool {
    let search = (surroundings.environment)("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("onecall"))
        .find(|path| path.is_file());
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    found.is_some_and(|found| real(&found).is_some() && real(&found) == real(executable))
}

/// The places of a client that a command is about, the one that onecall goes to first.
fn places(
    host: &Host<'_>,
    client: Client,
    arguments: &TargetArguments,
) -> anyhow::Result<Vec<Place>> {
    let scope = if arguments.project { Scope::Project } else { Scope::User };
    let mut places: Vec<Place> =
        host.places(client).into_iter().filter(|place| place.scope == scope).collect();
    if places.is_empty() {
        bail!("{client} has no configuration of a project; leave out --project");
    }
    for place in &mut places {
        // A folder of files, of which one would be ours.
        if place.path.to_string_lossy().ends_with(['/', '\\']) {
            place.path = place.path.join("onecall.yaml");
        }
    }
    Ok(places)
}

/// The files of these places with the places in each, in order.
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
            record.created = before.map_or(!file.exists(), |before| before.created);
            steps.push(Step { file, text: Some(text), record: Some(record), format, readers });
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
        // A file that nobody has touched since becomes what it was.
        let untouched = record.filter(|record| record.is_of(file.text()));
        let original = untouched
            .and_then(|record| TextFile::read(record.backup.as_deref()?).ok())
            .filter(TextFile::exists);
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
        steps.push(Step { file, text, record: None, format, readers: Readers::Owner });
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

/// Shows what would change, asks, and changes it.
fn carry_out(
    client: Client,
    arguments: &TargetArguments,
    plan: impl Fn(&Records) -> anyhow::Result<Vec<Step>>,
) -> anyhow::Result<Outcome> {
    let state = Surroundings::of_process().directories.state;
    let state = state
        .context("there is no place to remember what is changed: set HOME or XDG_STATE_HOME")?;
    let steps = plan(&Records::read(&state))?;
    if steps.is_empty() {
        return Ok(Outcome::Nothing);
    }
    for step in &steps {
        let new = step.text.as_deref().unwrap_or_default();
        let path = step.file.path().display().to_string();
        let mut hidden = secrets_in(step.file.text(), step.format);
        hidden.extend(secrets_in(new, step.format));
        // Colours are ours; everything else has been made visible.
        terminal::print_styled(&unified(&path, step.file.text(), new, &hidden))?;
    }
    if arguments.dry_run {
        return Ok(Outcome::Shown);
    }
    if !arguments.yes {
        must_be_able_to_ask("say --yes to change it, or --dry-run to look only")?;
        if !pin::agrees(&format!("Change {client}'s configuration like this?"))? {
            return Ok(Outcome::Refused);
        }
    }
    for attempt in 1.. {
        let steps = plan(&Records::read(&state))?;
        // Its program has had its chance, if it has one.
        let program = (client == Client::ClaudeCode && attempt == 1).then_some(arguments.project);
        match steps.into_iter().try_for_each(|step| apply(&step, program, &state)) {
            Ok(()) => return Ok(Outcome::Done),
            Err(error)
                if attempt < TRIES
                    && matches!(error.downcast_ref(), Some(FileError::ChangedMeanwhile { .. })) => {
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

/// Changes one file; `program` says whether a client's own program may do it, and for a
/// project or not.
fn apply(step: &Step, program: Option<bool>, state: &Path) -> anyhow::Result<()> {
    let Step { file, text, record, .. } = step;
    let path = file.path();
    let records = Records::read(state);
    let before = records.of(path);
    let backup = match record {
        Some(_) => file.back_up()?,
        None => None,
    };
    let mut by_program = false;
    match text {
        Some(text) => {
            by_program = program
                .is_some_and(|is_project| claude_code::change(path, file.text(), text, is_project));
            if !by_program {
                file.replace(text, step.readers)?;
            }
        }
        None => file.delete()?,
    }
    let shown = path.display();
    match record {
        Some(record) => {
            let mut record = record.clone();
            if by_program {
                // What else it wrote is not to be undone.
                record.after.clear();
            }
            record.backup = before.and_then(|before| before.backup.clone()).or(backup.clone());
            Records::write(state, path, Some(record))
                .context("cannot remember what was changed")?;
            match &backup {
                Some(backup) => say(&format!("changed {shown}; as it was: {}", backup.display())),
                None => say(&format!("wrote {shown}")),
            }
        }
        None => {
            Records::write(state, path, None).context("cannot remember what was changed")?;
            match text {
                Some(_) => say(&format!("changed {shown}")),
                None => say(&format!("removed {shown}, which held nothing else")),
            }
        }
    }
    Ok(())
}
