//! Finds the servers in the configuration files of all clients of a user, and merges duplicates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::client::Client;
use crate::client_entry;
use crate::edit::{self, EditError};
use crate::file::{FileError, TextFile};
use crate::location::{ClientFileLocation, Scope, UserEnvironment};
use crate::section::{FileFormat, SectionShape, ServerSection};
use crate::server::{Launch, Server};

/// A server and all locations that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredServer {
    /// The server, with a unique name.
    pub server: Server,
    /// The locations that contain it.
    pub origins: Vec<ServerOrigin>,
}

/// A location that contains a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerOrigin {
    /// The client that the location belongs to.
    pub client: Client,
    /// Whether the location is shared by all users who work on the project.
    pub is_shared: bool,
    /// The path of the file.
    pub path: PathBuf,
}

impl ServerOrigin {
    fn of(location: &ClientFileLocation) -> Self {
        let is_shared = location.scope == Scope::Project;
        Self { client: location.client, is_shared, path: location.path.clone() }
    }
}

/// The result of a discovery.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The servers, without duplicates.
    pub servers: Vec<DiscoveredServer>,
    /// Files and entries that could not be read or used, one line each with the reason.
    pub problems: Vec<String>,
    /// Entries that would start onecall itself.
    pub own_entries: Vec<(Server, ServerOrigin)>,
    /// The files that were read.
    pub files: BTreeSet<PathBuf>,
}

impl Discovery {
    /// Searches the files of these clients.
    #[must_use]
    pub fn of_clients(
        user: &UserEnvironment<'_>,
        clients: &[Client],
        executable: Option<&str>,
    ) -> Self {
        let mut discovery = Self::default();
        // Some clients have servers in several locations of one large file, which is parsed once.
        let mut documents = BTreeMap::new();
        for location in clients.iter().flat_map(|client| user.locations(*client)) {
            for path in files_at(&location) {
                let location = ClientFileLocation { path: path.clone(), ..location.clone() };
                let read = documents
                    .entry(path)
                    .or_insert_with_key(|path| read_document(path, &location.section));
                match read {
                    Ok(Some(document)) => {
                        discovery.add_document(document, &location, user, executable)
                    }
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
        user: &UserEnvironment<'_>,
        executable: Option<&str>,
    ) {
        let before = self.servers.len() + self.own_entries.len() + self.problems.len();
        let read = TextFile::read(path).map_err(DocumentError::from).and_then(|file| {
            if !file.exists() {
                return Err(DocumentError::Missing { path: path.to_owned() });
            }
            let format = guess_format(path, file.text());
            let section = ServerSection::new(format, &[], SectionShape::Mapping);
            Ok((format, parse_document(path, file.text(), &section)?))
        });
        let (format, document) = match read {
            Ok(read) => read,
            Err(error) => return self.problems.push(error.to_string()),
        };
        for keys in server_key_paths(&document) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let client = client.unwrap_or_else(|| guess_client(path, &keys, format));
            let section = ServerSection::new(format, &keys, SectionShape::Mapping);
            let location = ClientFileLocation {
                client,
                scope: Scope::User,
                path: path.to_path_buf(),
                section,
            };
            self.add_document(&document, &location, user, executable);
        }
        if self.servers.len() + self.own_entries.len() + self.problems.len() == before
            && !self.files.contains(path)
        {
            self.problems.push(format!("'{}' has no MCP servers in it", path.display()));
        }
    }

    fn add_document(
        &mut self,
        document: &Value,
        location: &ClientFileLocation,
        user: &UserEnvironment<'_>,
        executable: Option<&str>,
    ) {
        self.files.insert(location.path.clone());
        let entries = edit::entries(document, &location.section);
        for (name, entry) in entries {
            match client_entry::read_server(location.client, &user.project, name, entry) {
                Err(why) => self.problems.push(format!(
                    "server '{name}' in '{}' is left out: {why}",
                    location.path.display()
                )),
                Ok(server) if server.is_onecall(executable) => {
                    self.own_entries.push((server, ServerOrigin::of(location)));
                }
                Ok(mut server) => {
                    server.set_working_directory(location, user);
                    self.add_server(server, location);
                }
            }
        }
    }

    fn add_server(&mut self, mut server: Server, location: &ClientFileLocation) {
        let origin = ServerOrigin::of(location);
        if let Some(same) =
            self.servers.iter_mut().find(|known| known.server.is_same_server(&server))
        {
            same.server.disabled &= server.disabled;
            if !same.origins.contains(&origin) {
                same.origins.push(origin);
            }
            return;
        }
        server.name = self.free_name(&server.name, location.client);
        self.servers.push(DiscoveredServer { server, origins: vec![origin] });
    }

    /// The name, or a similar one if another server has it.
    fn free_name(&self, name: &str, client: Client) -> String {
        let is_free = |name: &String| {
            // This name is reserved for local tools.
            name != "local"
                && !name.trim().is_empty()
                && !self.servers.iter().any(|known| known.server.name == *name)
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
    fn set_working_directory(&mut self, location: &ClientFileLocation, user: &UserEnvironment<'_>) {
        let project = match location.section.keys.as_slice() {
            [projects, project, _] if projects == "projects" => project,
            _ if location.scope == Scope::Project => &user.project,
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
pub fn secrets_in(text: &str, format: FileFormat) -> Vec<String> {
    let Ok(document) = edit::read(text, format) else { return Vec::new() };
    let mut secrets = BTreeSet::new();
    for keys in server_key_paths(&document) {
        let section = ServerSection { format, keys, shape: SectionShape::Mapping };
        for (name, entry) in edit::entries(&document, &section) {
            let Ok(server) = client_entry::read_server(Client::ClaudeCode, "", name, entry) else {
                continue;
            };
            for secret in server.secrets() {
                secrets.insert(server.secret_value(&secret).to_owned());
            }
        }
    }
    let mut secrets: Vec<String> = secrets.into_iter().collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The file of a location, or all files in its folder.
fn files_at(location: &ClientFileLocation) -> Vec<PathBuf> {
    let text = location.path.to_string_lossy();
    if !text.ends_with(['/', '\\']) {
        return vec![location.path.clone()];
    }
    let Ok(folder) = std::fs::read_dir(&location.path) else { return Vec::new() };
    let is_client_file = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml" | "json"))
    };
    let mut files: Vec<_> =
        folder.filter_map(|entry| Some(entry.ok()?.path())).filter(is_client_file).collect();
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

fn read_document(path: &Path, section: &ServerSection) -> Result<Option<Value>, DocumentError> {
    let file = TextFile::read(path)?;
    if !file.exists() {
        return Ok(None);
    }
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let format = if is_json { FileFormat::Json } else { section.format };
    parse_document(path, file.text(), &ServerSection { format, ..section.clone() }).map(Some)
}

fn parse_document(
    path: &Path,
    text: &str,
    section: &ServerSection,
) -> Result<Value, DocumentError> {
    let path = path.to_owned();
    edit::read(text, section.format).map_err(|error| DocumentError::Syntax { path, error })
}

fn guess_format(path: &Path, text: &str) -> FileFormat {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => FileFormat::Toml,
        Some("yaml" | "yml") => FileFormat::Yaml,
        Some("json" | "jsonc") => FileFormat::Json,
        _ if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']) => {
            FileFormat::Json
        }
        _ if edit::read(text, FileFormat::Toml).is_ok() => FileFormat::Toml,
        _ => FileFormat::Yaml,
    }
}

/// The key paths in this document that lead to the servers of some client.
fn server_key_paths(document: &Value) -> Vec<Vec<String>> {
    let known: [&[&str]; 5] = [
        &["mcpServers"],
        &["servers"],
        &["mcp", "servers"],
        &["context_servers"],
        &["mcp_servers"],
    ];
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let mut key_paths: Vec<_> = known.into_iter().map(owned).collect();
    if let Some(Value::Object(projects)) = document.get("projects") {
        key_paths
            .extend(projects.keys().map(|project| owned(&["projects", project, "mcpServers"])));
    }
    let exists =
        |keys: &Vec<String>| keys.iter().try_fold(document, |value, key| value.get(key)).is_some();
    key_paths.retain(exists);
    key_paths
}

/// The client that a file belongs to, by its path or else by its keys and format.
fn guess_client(path: &Path, keys: &[&str], format: FileFormat) -> Client {
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
        (["servers"], FileFormat::Json) | (["mcp", "servers"], _) => Client::VsCode,
        (["mcpServers"], FileFormat::Yaml) => Client::Continue,
        _ => Client::ClaudeCode,
    }
}
