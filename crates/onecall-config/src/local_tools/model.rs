//! Local tools as the configuration defines them, in the form that the other crates use.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::{Secret, ServerName, ToolAnnotations, ToolName};
use serde_json::Value;

use super::template::Template;

/// A tool that needs no MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTool {
    /// The name, unique among the local tools.
    pub name: ToolName,
    /// The description; a built-in tool has a default one.
    pub description: Option<String>,
    /// The hints of the configuration about effects; missing hints depend on the kind of tool.
    pub annotations: ToolAnnotations,
    /// What the tool does: start a command, or work on files.
    pub kind: LocalToolKind,
}

impl LocalTool {
    /// The name of the server that provides the local tools; no other server may use it.
    pub const SERVER: &'static str = ServerName::LOCAL;

    /// [`SERVER`](Self::SERVER) as a server name.
    #[must_use]
    pub fn server() -> ServerName {
        ServerName::new(Self::SERVER)
    }
}

/// What a local tool does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalToolKind {
    /// The tool starts a command.
    Command(CommandTool),
    /// The tool works on the files of one folder.
    Files(FilesTool),
}

/// A command that is started for each call.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandTool {
    /// The program: an absolute path, or a name that is looked up on `PATH`.
    pub program: PathBuf,
    /// The arguments. Each template becomes one argument or none; no shell is involved.
    pub arguments: Vec<Template>,
    /// JSON Schema of the tool's arguments. Every placeholder is one of its properties.
    pub input_schema: Value,
    /// The standard input of the program.
    pub stdin: CommandInput,
    /// How the output is interpreted.
    pub output: CommandOutput,
    /// The time limit of a call.
    pub timeout: Duration,
    /// The absolute working directory; that of the gateway if absent.
    pub cwd: Option<PathBuf>,
    /// Variables that are added to the minimal base environment.
    pub env: BTreeMap<String, Secret>,
    /// The output limit; a call with a longer output fails.
    pub max_output_bytes: usize,
}

/// The standard input of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandInput {
    /// The standard input is empty.
    #[default]
    None,
    /// The arguments as one JSON object.
    Json,
    /// A text that contains arguments.
    Text(Template),
}

/// How the output of a command is interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// The output is JSON if it can be parsed, otherwise text.
    #[default]
    Auto,
    /// The output is JSON; the call fails if it cannot be parsed.
    Json,
    /// The output is text, even if it looks like JSON.
    Text,
}

impl CommandOutput {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("auto", Self::Auto), ("json", Self::Json), ("text", Self::Text)];
}

/// A built-in tool for the files of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesTool {
    /// What the tool does with the files.
    pub action: FileAction,
    /// The absolute path of the folder; nothing outside of it is accessed.
    pub root: PathBuf,
}

/// The actions of built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Reads a text file.
    Read,
    /// Writes a text file.
    Write,
    /// Lists a folder.
    List,
    /// Finds files by a pattern.
    Glob,
}

impl FileAction {
    /// Every action with its name in the configuration.
    pub const NAMES: [(&str, Self); 4] = [
        ("read_file", Self::Read),
        ("write_file", Self::Write),
        ("list_files", Self::List),
        ("glob", Self::Glob),
    ];
}

// Arguments are hidden because they often contain tokens.
impl fmt::Debug for CommandTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CommandTool")
            .field("program", &self.program)
            .field("arguments", &format_args!("[{} hidden]", self.arguments.len()))
            .field("input_schema", &self.input_schema)
            .field("stdin", &self.stdin)
            .field("output", &self.output)
            .field("timeout", &self.timeout)
            .field("cwd", &self.cwd)
            .field("env", &self.env)
            .field("max_output_bytes", &self.max_output_bytes)
            .finish()
    }
}
