//! The locations at which each client stores its servers. They depend only on the operating system,
//! the environment and two directories, so the locations for every system can be tested on any.

use std::path::PathBuf;

use crate::client::Client;
use crate::spot::{Format, Shape, Spot};

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
    pub const THIS: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The system and user whose configuration files are searched.
pub struct Host<'h> {
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

/// A file that can contain servers, and the spot at which it has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The client that the file belongs to.
    pub client: Client,
    /// The scope of the file.
    pub scope: Scope,
    /// The path of the file.
    pub path: PathBuf,
    /// The spot in the file.
    pub spot: Spot,
}

impl Host<'_> {
    /// All places of a client. For each scope, the one to install into comes first. A path that
    /// ends in a separator is a folder of such files.
    #[must_use]
    pub fn places(&self, client: Client) -> Vec<Place> {
        let json = |key: &str| Spot::new(Format::Json, &[key], Shape::Mapping);
        let servers = || json("mcpServers");
        let user = |path: String, spot| self.place(client, Scope::User, path, spot);
        let project = |parts: &[&str], spot| {
            self.place(client, Scope::Project, self.below(&self.project, parts), spot)
        };
        match client {
            Client::ClaudeCode => self.claude_code(),
            Client::ClaudeDesktop => {
                vec![user(self.application(&["Claude", "claude_desktop_config.json"]), servers())]
            }
            Client::Cursor => vec![
                user(self.in_home(&[".cursor", "mcp.json"]), servers()),
                project(&[".cursor", "mcp.json"], servers()),
            ],
            Client::VsCode => {
                let nested = || Spot::new(Format::Json, &["mcp", "servers"], Shape::Mapping);
                vec![
                    user(self.application(&["Code", "User", "mcp.json"]), json("servers")),
                    // The location of servers before they had a separate file.
                    user(self.application(&["Code", "User", "settings.json"]), nested()),
                    project(&[".vscode", "mcp.json"], json("servers")),
                    project(&[".vscode", "settings.json"], nested()),
                ]
            }
            Client::Windsurf => {
                let path = self.in_home(&[".codeium", "windsurf", "mcp_config.json"]);
                vec![user(path, servers())]
            }
            Client::Codex => {
                let toml = || Spot::new(Format::Toml, &["mcp_servers"], Shape::Mapping);
                let folder = self.variable("CODEX_HOME");
                let folder = folder.unwrap_or_else(|| self.in_home(&[".codex"]));
                vec![
                    user(self.below(&folder, &["config.toml"]), toml()),
                    project(&[".codex", "config.toml"], toml()),
                ]
            }
            Client::Gemini => vec![
                user(self.in_home(&[".gemini", "settings.json"]), servers()),
                project(&[".gemini", "settings.json"], servers()),
            ],
            Client::Zed => {
                let folder = match self.os {
                    Os::Windows => self.application(&["Zed"]),
                    Os::Mac => self.in_home(&[".config", "zed"]),
                    Os::Linux => self.application(&["zed"]),
                };
                let path = self.below(&folder, &["settings.json"]);
                vec![
                    user(path, json("context_servers")),
                    project(&[".zed", "settings.json"], json("context_servers")),
                ]
            }
            Client::Continue => {
                let yaml = || Spot::new(Format::Yaml, &["mcpServers"], Shape::List);
                let folder = self.in_home(&[".continue"]);
                vec![
                    user(self.below(&folder, &["config.yaml"]), yaml()),
                    user(self.below(&folder, &["mcpServers", ""]), yaml()),
                    project(&[".continue", "mcpServers", ""], yaml()),
                ]
            }
        }
    }

    /// The places of Claude Code. Besides the user's own servers and those in the project's file,
    /// the main file contains servers of one user in one project.
    fn claude_code(&self) -> Vec<Place> {
        let client = Client::ClaudeCode;
        let spot = |keys: &[&str]| Spot::new(Format::Json, keys, Shape::Mapping);
        let main = match self.variable("CLAUDE_CONFIG_DIR") {
            Some(folder) => self.below(&folder, &[".claude.json"]),
            None => self.in_home(&[".claude.json"]),
        };
        let mut places = vec![self.place(client, Scope::User, main.clone(), spot(&["mcpServers"]))];
        for project in self.project_and_above() {
            let local = spot(&["projects", project, "mcpServers"]);
            places.push(self.place(client, Scope::User, main.clone(), local));
        }
        let shared = self.below(&self.project, &[".mcp.json"]);
        places.push(self.place(client, Scope::Project, shared, spot(&["mcpServers"])));
        places
    }

    /// The folder of the project and its parent folders.
    fn project_and_above(&self) -> impl Iterator<Item = &str> {
        let separator = self.separator();
        std::iter::successors(Some(self.project.as_str()), move |folder| {
            let (above, _) = folder.rsplit_once(separator)?;
            (!above.is_empty()).then_some(above)
        })
    }

    fn place(&self, client: Client, scope: Scope, path: String, spot: Spot) -> Place {
        Place { client, scope, path: PathBuf::from(path), spot }
    }

    /// A path below the directory for application settings.
    fn application(&self, parts: &[&str]) -> String {
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
        self.below(&folder, parts)
    }

    fn in_home(&self, parts: &[&str]) -> String {
        self.below(&self.home, parts)
    }

    /// Joins paths with the separator of the described system, which may not be the running one.
    fn below(&self, folder: &str, parts: &[&str]) -> String {
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
