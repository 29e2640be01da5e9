//! The MCP clients whose configuration files onecall knows.

use std::fmt;

/// An MCP client: a program that starts MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Anthropic's agent for the terminal.
    ClaudeCode,
    /// Anthropic's desktop application.
    ClaudeDesktop,
    /// The Cursor editor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// The Windsurf editor.
    Windsurf,
    /// OpenAI's agent.
    Codex,
    /// Google's agent for the terminal.
    Gemini,
    /// The Zed editor.
    Zed,
    /// The Continue extension.
    Continue,
}

impl Client {
    /// Every client, with the name it has on the command line and in sentences.
    pub const NAMES: [(&str, &str, Self); 9] = [
        ("claude-code", "Claude Code", Self::ClaudeCode),
        ("claude-desktop", "Claude Desktop", Self::ClaudeDesktop),
        ("cursor", "Cursor", Self::Cursor),
        ("vscode", "VS Code", Self::VsCode),
        ("windsurf", "Windsurf", Self::Windsurf),
        ("codex", "Codex", Self::Codex),
        ("gemini", "Gemini CLI", Self::Gemini),
        ("zed", "Zed", Self::Zed),
        ("continue", "Continue", Self::Continue),
    ];

    /// The client with this name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, ..)| *known == name).map(|(.., client)| *client)
    }

    /// The name of the client on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.names().0
    }

    /// Whether users start it from a shell, so that it gets the shell's environment.
    #[must_use]
    pub fn is_started_in_shell(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex | Self::Gemini)
    }

    fn names(self) -> (&'static str, &'static str) {
        let found = Self::NAMES.iter().find(|(.., client)| *client == self);
        found.map_or(("", ""), |(id, title, _)| (id, title))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.names().1)
    }
}
