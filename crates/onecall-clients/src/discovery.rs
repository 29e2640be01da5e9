//! Finds the servers in the configuration files of all clients of a user, and merges duplicates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::client::Client;
use crate::edit::{self, EditError};
use crate::file::{FileError, TextFile};
use crate::place::{Host, Place, Scope};
use crate::reading;
use crate::server::{Launch, Server};
use crate::spot::{Format, Shape, Spot};

/// A server and all places that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The server, with a unique name.
    pub server: Server,
    /// The places that contain it.
    pub origins: Vec<Origin>,
}

/// A place that contains a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The client that the place belongs to.
    pub client: Client,
    /// Whether the place is shared by all users who work on the project.
    pub is_shared: bool,
    /// The path of the file.
    pub path: PathBuf,
}

impl Origin {
    fn of(place: &Place) -> Self {
        let is_shared = place.scope == Scope::Project;
        Self { client: place.client, is_shared, path: place.path.clone() }
    }
}

/// The result of a discovery.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The servers, without duplicates.
    pub found: Vec<Found>,
    /// Files and entries that could not be read or used, one line each with the reason.
    pub problems: Vec<String>,
    /// Entries that would start onecall itself.
    pub own: Vec<(Server, Origin)>,
    /// The files that were read.
    pub files: BTreeSet<PathBuf>,
}

impl Discovery {
    /// Searches the files of these clients.
    #[must_use]
    pub fn of_clients(host: &Host<'_>, clients: &[Client], executable: Option<&str>) -> Self {
        let mut discovery = Self::default();
        // Some clients have servers in several places of one large file, which is parsed once.
        let mut documents = BTreeMap::new();
        for place in clients.iter().flat_map(|client| host.places(*client)) {
            for path in files_of(&place) {
                let place = Place { path: path.clone(), ..place.clone() };
                let read = documents
                    .entry(path)
                    .or_insert_with_key(|path| read_document(path, &place.spot));
                match read {
                    Ok(Some(document)) => discovery.add(document, &place, host, executable),
                    Ok(None) => {}
                    Err(error) => {
                        let problem = error.to_string();
                        if !discovery.problems.contains(&problem) {
                            discovery.problems.push(problem);
                        }
                    }
                }
            }
        }
        discovery
    }

    /// Searches one file of any client.
    pub fn add_file(
        &mut self,
        path: &Path,
        client: Option<Client>,
        host: &Host<'_>,
        executable: Option<&str>,
    ) {
        let before = self.found.len() + self.own.len() + self.problems.len();
        let read = TextFile::read(path).map_err(DocumentError::from).and_then(|file| {
            if !file.exists() {
                return Err(DocumentError::Missing { path: path.to_owned() });
            }
            let format = format_of(path, file.text());
            let spot = Spot::new(format, &[], Shape::Mapping);
            Ok((format, parsed(path, file.text(), &spot)?))
        });
        let (format, document) = match read {
            Ok(read) => read,
            Err(error) => return self.problems.push(error.to_string()),
        };
        for keys in ways_to_servers(&document) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let client = client.unwrap_or_else(|| client_of(path, &keys, format));
            let spot = Spot::new(format, &keys, Shape::Mapping);
            let place = Place { client, scope: Scope::User, path: path.to_path_buf(), spot };
            self.add(&document, &place, host, executable);
        }
        if self.found.len() + self.own.len() + self.problems.len() == before
            && !self.files.contains(path)
        {
            self.problems.push(format!("'{}' has no MCP servers in it", path.display()));
        }
    }

    fn add(&mut self, document: &Value, place: &Place, host: &Host<'_>, executable: Option<&str>) {
        self.files.insert(place.path.clone());
        let entries = edit::entries(document, &place.spot);
        for (name, entry) in entries {
            match reading::server(place.client, &host.project, name, entry) {
                Err(why) => self.problems.push(format!(
                    "server '{name}' in '{}' is left out: {why}",
                    place.path.display()
                )),
                Ok(server) if server.is_onecall(executable) => {
                    self.own.push((server, Origin::of(place)));
                }
                Ok(mut server) => {
                    server.run_in(place, host);
                    self.put(server, place);
                }
            }
        }
    }

    fn put(&mut self, mut server: Server, place: &Place) {
        let origin = Origin::of(place);
        if let Some(same) = self.found.iter_mut().find(|known| known.server.leads_to_same(&server))
        {
            same.server.disabled &= server.disabled;
            if !same.origins.contains(&origin) {
                same.origins.push(origin);
            }
            return;
        }
        server.name = self.free_name(&server.name, place.client);
        self.found.push(Found { server, origins: vec![origin] });
    }

    /// The name, or a similar one if another server has it.
    fn free_name(&self, name: &str, client: Client) -> String {
        let is_free = |name: &String| {
            // This name is reserved for local tools.
            name != "local"
                && !name.trim().is_empty()
                && !self.found.iter().any(|known| known.server.name == *name)
        };
        let name = if name.trim().is_empty() { "server" } else { name.trim() };
        let candidates = [name.to_owned(), format!("{name}-{}", client.id())];
        let numbered = (2..).map(|number| format!("{name}-{}-{number}", client.id()));
        candidates.into_iter().chain(numbered).find(is_free).unwrap_or_default()
    }
}

impl Server {
    /// Sets the working directory of a project's server. It is started in the project, which
    /// matters if its command or an argument is a relative path.
    fn run_in(&mut self, place: &Place, host: &Host<'_>) {
        let project = match place.spot.keys.as_slice() {
            [projects, project, _] if projects == "projects" => project,
            _ if place.scope == Scope::Project => &host.project,
            _ => return,
        };
        let Launch::Command { command, args, cwd, .. } = &mut self.launch else { return };
        let is_relative =
            |text: &String| text.starts_with("./") || text.starts_with("../") || text == ".";
        match cwd {
            Some(folder) if is_relative(folder) => *folder = format!("{project}/{folder}"),
            Some(_) => {}
            None if is_relative(command) || args.iter().any(is_relative) => {
                *cwd = Some(project.clone());
            }
            None => {}
        }
    }
}

/// All values in a text that look like secrets of its servers, the longest first.
#[must_use]
pub fn secrets_in(text: &str, format: Format) -> Vec<String> {
    let Ok(document) = edit::read(text, format) else { return Vec::new() };
    let mut secrets = BTreeSet::new();
    for keys in ways_to_servers(&document) {
        let spot = Spot { format, keys, shape: Shape::Mapping };
        for (name, entry) in edit::entries(&document, &spot) {
            let Ok(server) = reading::server(Client::ClaudeCode, "", name, entry) else { continue };
            for secret in server.secrets() {
                secrets.insert(server.secret_value(&secret).to_owned());
            }
        }
    }
    let mut secrets: Vec<String> = secrets.into_iter().collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The file of a place, or all files in its folder.
fn files_of(place: &Place) -> Vec<PathBuf> {
    let text = place.path.to_string_lossy();
    if !text.ends_with(['/', '\\']) {
        return vec![place.path.clone()];
    }
    let Ok(folder) = std::fs::read_dir(&place.path) else { return Vec::new() };
    let is_one = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml" | "json"))
    };
    let mut files: Vec<_> =
        folder.filter_map(|entry| Some(entry.ok()?.path())).filter(is_one).collect();
    files.sort();
    files
}

/// Why a client's file could not be read.
#[derive(Debug, Error)]
enum DocumentError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("'{}' does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{}:{error}", path.display())]
    Syntax { path: PathBuf, error: EditError },
}

fn read_document(path: &Path, spot: &Spot) -> Result<Option<Value>, DocumentError> {
    let file = TextFile::read(path)?;
    if !file.exists() {
        return Ok(None);
    }
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let format = if is_json { Format::Json } else { spot.format };
    parsed(path, file.text(), &Spot { format, ..spot.clone() }).map(Some)
}

fn parsed(path: &Path, text: &str, spot: &Spot) -> Result<Value, DocumentError> {
    let path = path.to_owned();
    edit::read(text, spot.format).map_err(|error| DocumentError::Syntax { path, error })
}

fn format_of(path: &Path, text: &str) -> Format {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => Format::Toml,
        Some("yaml" | "yml") => Format::Yaml,
        Some("json" | "jsonc") => Format::Json,
        _ if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']) => {
            Format::Json
        }
        _ if edit::read(text, Format::Toml).is_ok() => Format::Toml,
        _ => Format::Yaml,
    }
}

/// The key paths in this document at which some client has servers.
fn ways_to_servers(document: &Value) -> Vec<Vec<String>> {
    let known: [&[&str]; 5] = [
        &["mcpServers"],
        &["servers"],
        &["mcp", "servers"],
        &["context_servers"],
        &["mcp_servers"],
    ];
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let mut ways: Vec<_> = known.into_iter().map(owned).collect();
    if let Some(Value::Object(projects)) = document.get("projects") {
        ways.extend(projects.keys().map(|project| owned(&["projects", project, "mcpServers"])));
    }
    let leads =
        |keys: &Vec<String>| keys.iter().try_fold(document, |value, key| value.get(key)).is_some();
    ways.retain(leads);
    ways
}

/// The client that a file belongs to, by its path or else by its keys and format.
fn client_of(path: &Path, keys: &[&str], format: Format) -> Client {
    let path = path.to_string_lossy().replace('\\', "/");
    let by_name = [
        (".gemini/", Client::Gemini),
        (".cursor/", Client::Cursor),
        ("windsurf/", Client::Windsurf),
        ("claude_desktop_config", Client::ClaudeDesktop),
        (".continue/", Client::Continue),
    ];
    if let Some((_, client)) = by_name.into_iter().find(|(part, _)| path.contains(part)) {
        return client;
    }
    match (keys, format) {
        (["context_servers"], _) => Client::Zed,
        (["mcp_servers"], _) => Client::Codex,
        (["servers"], Format::Json) | (["mcp", "servers"], _) => Client::VsCode,
        (["mcpServers"], Format::Yaml) => Client::Continue,
        _ => Client::ClaudeCode,
    }
}
