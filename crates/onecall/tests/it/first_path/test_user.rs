//! A person with nine MCP clients, whose files are full of published servers.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::bins;

use super::package::Package;
use super::screens::HOME;
use crate::support::Home;
use crate::support::installed::{DEADLINE, bounded, claude_code, inspector, installed};
use crate::support::terminal::Terminal;

/// Where each client has its file, from the home folder, and what is in it; `[home]` stands for
/// that folder. Servers have a minute to start, since the machine of a test may be busy.
const FILES: [(&str, &str); 9] = [
    (CLAUDE_CODE, include_str!("clients/claude-code.json")),
    (".config/Claude/claude_desktop_config.json", include_str!("clients/claude-desktop.json")),
    (CURSOR, include_str!("clients/cursor.json")),
    (".config/Code/User/mcp.json", include_str!("clients/vscode.json")),
    (".codeium/windsurf/mcp_config.json", include_str!("clients/windsurf.json")),
    (".codex/config.toml", include_str!("clients/codex.toml")),
    (".gemini/settings.json", include_str!("clients/gemini.json")),
    (".config/zed/settings.json", include_str!("clients/zed.json")),
    (".continue/config.yaml", include_str!("clients/continue.yaml")),
];

/// The file of Claude Code, which Claude Code itself writes, too.
pub const CLAUDE_CODE: &str = ".claude.json";

/// The file of Cursor.
pub const CURSOR: &str = ".cursor/mcp.json";

/// A home folder with everything that a person has installed.
pub struct TestUser {
    home: Home,
    /// The server that is not installed yet.
    pub package: Package,
    claude: PathBuf,
    inspector: (PathBuf, PathBuf),
}

impl TestUser {
    /// Fills a home folder; `None` if a package that belongs there is not installed.
    pub fn new() -> Option<Self> {
        let node = installed("ONECALL_INTEROP_NODE")?;
        let npm = installed("ONECALL_INTEROP_NPM")?;
        let python = installed("ONECALL_INTEROP_SERVERS")?;
        let (claude, inspector) = (claude_code()?, inspector()?);
        // As long as the path that the screens show in its place.
        let digits = HOME.len() - "/tmp/".len();
        let folder = tempfile::Builder::new().prefix("").rand_bytes(digits).tempdir_in("/tmp");
        let home = Home::in_folder(folder.expect("a temporary folder"));
        for folder in ["bin", "docs", "tickets"] {
            std::fs::create_dir(home.path(folder)).expect("a folder");
        }
        symlink(npm, home.path("npm")).expect("a link");
        symlink(python, home.path("python")).expect("a link");
        if node.is_absolute() {
            symlink(node, home.path("bin/node")).expect("a link");
        }
        install_onecall(&home.path("bin/onecall"));
        home.write("work/today.txt", "buy milk\n");
        // A package manager that is content with what is here.
        home.write(".npmrc", "offline=true\naudit=false\nupdate-notifier=false\n");
        let package = Package::make(&home);
        let user = Self { home, package, claude, inspector };
        for (path, _) in FILES {
            user.home.write(path, user.original(path));
        }
        Some(user)
    }

    /// What a client's file holds before onecall comes.
    pub fn original(&self, path: &str) -> String {
        let text = FILES.iter().find(|(file, _)| *file == path).expect("a client's file").1;
        text.replace("[home]", &self.home_path())
    }

    /// The clients' files that differ from what they were at first.
    pub fn changed_files(&self) -> Vec<&'static str> {
        let files = FILES.iter().map(|(path, _)| *path);
        files.filter(|path| self.read(path) != self.original(path)).collect()
    }

    /// The home folder.
    pub fn home_path(&self) -> String {
        self.home.path("").display().to_string().trim_end_matches('/').to_owned()
    }

    /// Writes a file in the home folder.
    pub fn write(&self, name: &str, content: &str) {
        self.home.write(name, content);
    }

    /// Reads a file in the home folder.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path(name)).expect("a file")
    }

    /// Types `onecall` with these arguments on a terminal.
    pub fn run_on_terminal(&self, arguments: &[&str]) -> Terminal {
        self.start_on_terminal(&[&["onecall"], arguments].concat())
    }

    /// Types a command line on a terminal.
    pub fn run_line_on_terminal(&self, line: &str) -> Terminal {
        self.start_on_terminal(&["sh", "-c", line])
    }

    fn start_on_terminal(&self, words: &[&str]) -> Terminal {
        let mut command = self.prepared(Command::new("timeout"));
        command.args(["--foreground", "--kill-after=5", DEADLINE]).args(words);
        Terminal::start(&command)
    }

    /// Claude Code with these arguments.
    pub fn claude_code(&self, arguments: &[&str]) -> Command {
        let mut command = self.prepared(bounded(&self.claude));
        // It is to ask only its servers.
        command.args(arguments).env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command
    }

    /// The Inspector with the server `onecall` of Cursor's file.
    pub fn inspector(&self, arguments: &[&str]) -> Command {
        let (node, main) = &self.inspector;
        let mut command = self.prepared(bounded(node));
        command.arg(main).args(["--cli", "--quiet", "--format", "json", "--config"]);
        command.arg(self.home.path(CURSOR)).args(["--server", "onecall"]).args(arguments);
        command
    }

    fn prepared(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", self.home.text_path("bin")))
            .env("HOME", self.home_path())
            .current_dir(self.home.path("work"));
        command
    }
}

/// Puts the binary where a person has it. It is no symbolic link: an editor's file gets the path
/// that the link leads to.
fn install_onecall(path: &Path) {
    let built = bins::onecall();
    if std::fs::hard_link(&built, path).is_err() {
        // By another process: a descriptor of ours open for writing would be inherited by what
        // another test starts meanwhile, and the file could not be executed.
        let copied = Command::new("cp").arg(&built).arg(path).status();
        assert!(copied.is_ok_and(|status| status.success()), "a copy of the binary");
    }
}
