//! The locations at which each client stores its servers. They depend only on the operating system,
//! the environment and two directories, so the locations for every system can be tested on any.

use std::path::PathBuf;

use crate::client::Client;
use crate::section::{FileFormat, SectionShape, ServerSection};

/// The operating systems that clients run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux, and other systems with the same file layout.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Os {
    /// The system that this program was built for.
    pub const CURRENT: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The system and user whose configuration files are searched.
pub struct UserEnvironment<'h> {
    /// The operating system.
    pub os: Os,
    /// A function that looks up an environment variable.
    pub environment: &'h dyn Fn(&str) -> Option<String>,
    /// The user's home directory.
    pub home: String,
    /// The folder of the current project.
    pub project: String,
}

/// The scope of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user, in all projects.
    User,
    /// One project, for all users who work on it.
    Project,
}

/// A file that can contain servers, and the section with its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFileLocation {
    /// The client that the file belongs to.
    pub client: Client,
    /// The scope of the file.
    pub scope: Scope,
    /// The path of the file.
    pub path: PathBuf,
    /// The section of the file that has the servers.
    pub section: ServerSection,
}

impl UserEnvironment<'_> {
    /// All locations of a client. For each scope, the one to install into comes first. A path that
    /// ends in a separator is a folder of such files.
    #[must_use]
    pub fn locations(&self, client: Client) -> Vec<ClientFileLocation> {
        let json = |key: &str| ServerSection::new(FileFormat::Json, &[key], SectionShape::Mapping);
        let servers = || json("mcpServers");
        let user = |path: String, section| self.location(client, Scope::User, path, section);
        let project = |parts: &[&str], section| {
            self.location(client, Scope::Project, self.join_path(&self.project, parts), section)
        };
        match client {
            Client::ClaudeCode => self.claude_code(),
            Client::ClaudeDesktop => {
                vec![user(
                    self.in_application_folder(&["Claude", "claude_desktop_config.json"]),
                    servers(),
                )]
            }
            Client::Cursor => vec![
                user(self.in_home(&[".cursor", "mcp.json"]), servers()),
                project(&[".cursor", "mcp.json"], servers()),
            ],
            Client::VsCode => {
                let nested = || {
                    ServerSection::new(FileFormat::Json, &["mcp", "servers"], SectionShape::Mapping)
                };
                vec![
                    user(
                        self.in_application_folder(&["Code", "User", "mcp.json"]),
                        json("servers"),
                    ),
                    // The location of servers before they had a separate file.
                    user(self.in_application_folder(&["Code", "User", "settings.json"]), nested()),
                    project(&[".vscode", "mcp.json"], json("servers")),
                    project(&[".vscode", "settings.json"], nested()),
                ]
            }
            Client::Windsurf => {
                let path = self.in_home(&[".codeium", "windsurf", "mcp_config.json"]);
                vec![user(path, servers())]
            }
            Client::Codex => {
                let toml = || {
                    ServerSection::new(FileFormat::Toml, &["mcp_servers"], SectionShape::Mapping)
                };
                let folder = self.variable("CODEX_HOME");
                let folder = folder.unwrap_or_else(|| self.in_home(&[".codex"]));
                vec![
                    user(self.join_path(&folder, &["config.toml"]), toml()),
                    project(&[".codex", "config.toml"], toml()),
                ]
            }
            Client::Gemini => vec![
                user(self.in_home(&[".gemini", "settings.json"]), servers()),
                project(&[".gemini", "settings.json"], servers()),
            ],
            Client::Zed => {
                let folder = match self.os {
                    Os::Windows => self.in_application_folder(&["Zed"]),
                    Os::Mac => self.in_home(&[".config", "zed"]),
                    Os::Linux => self.in_application_folder(&["zed"]),
                };
                let path = self.join_path(&folder, &["settings.json"]);
                vec![
                    user(path, json("context_servers")),
                    project(&[".zed", "settings.json"], json("context_servers")),
                ]
            }
            Client::Continue => {
                let yaml =
                    || ServerSection::new(FileFormat::Yaml, &["mcpServers"], SectionShape::List);
                let folder = self.in_home(&[".continue"]);
                vec![
                    user(self.join_path(&folder, &["config.yaml"]), yaml()),
                    user(self.join_path(&folder, &["mcpServers", ""]), yaml()),
                    project(&[".continue", "mcpServers", ""], yaml()),
                ]
            }
        }
    }

    /// The locations of Claude Code. Besides the user's own servers and those in the project's file,
    /// the main file contains servers of one user in one project.
    fn claude_code(&self) -> Vec<ClientFileLocation> {
        let client = Client::ClaudeCode;
        let section =
            |keys: &[&str]| ServerSection::new(FileFormat::Json, keys, SectionShape::Mapping);
        let main = match self.variable("CLAUDE_CONFIG_DIR") {
            Some(folder) => self.join_path(&folder, &[".claude.json"]),
            None => self.in_home(&[".claude.json"]),
        };
        let mut locations =
            vec![self.location(client, Scope::User, main.clone(), section(&["mcpServers"]))];
        for project in self.project_and_parents() {
            let local = section(&["projects", project, "mcpServers"]);
            locations.push(self.location(client, Scope::User, main.clone(), local));
        }
        let shared = self.join_path(&self.project, &[".mcp.json"]);
        locations.push(self.location(client, Scope::Project, shared, section(&["mcpServers"])));
        locations
    }

    /// The folder of the project and its parent folders.
    fn project_and_parents(&self) -> impl Iterator<Item = &str> {
        let separator = self.separator();
        std::iter::successors(Some(self.project.as_str()), move |folder| {
            let (parent, _) = folder.rsplit_once(separator)?;
            (!parent.is_empty()).then_some(parent)
        })
    }

    fn location(
        &self,
        client: Client,
        scope: Scope,
        path: String,
        section: ServerSection,
    ) -> ClientFileLocation {
        ClientFileLocation { client, scope, path: PathBuf::from(path), section }
    }

    /// A path below the directory for application settings.
    fn in_application_folder(&self, parts: &[&str]) -> String {
        let folder = match self.os {
            Os::Linux => self
                .variable("XDG_CONFIG_HOME")
                .filter(|folder| folder.starts_with('/'))
                .unwrap_or_else(|| self.in_home(&[".config"])),
            Os::Mac => self.in_home(&["Library", "Application Support"]),
            Os::Windows => {
                self.variable("APPDATA").unwrap_or_else(|| self.in_home(&["AppData", "Roaming"]))
            }
        };
        self.join_path(&folder, parts)
    }

    fn in_home(&self, parts: &[&str]) -> String {
        self.join_path(&self.home, parts)
    }

    /// Joins paths with the separator of the described system, which may not be the running one.
    fn join_path(&self, folder: &str, parts: &[&str]) -> String {
        let separator = self.separator();
        let mut path = folder.trim_end_matches(separator).to_owned();
        for part in parts {
            path.push(separator);
            path.push_str(part);
        }
        path
    }

    fn separator(&self) -> char {
        if self.os == Os::Windows { '\\' } else { '/' }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }
}
