//! Local tools as the rest of the program sees them.

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
    /// Unique among the local tools.
    pub name: ToolName,
    /// What it does; a built-in one has words of its own for that.
    pub description: Option<String>,
    /// What the configuration says about its effects; the rest is as its kind has it.
    pub annotations: ToolAnnotations,
    /// How it is done.
    pub work: LocalWork,
}

impl LocalTool {
    /// The server that local tools live in; no other may have its name.
    pub const SERVER: &'static str = ServerName::LOCAL;

    /// The same as a name.
    #[must_use]
    pub fn server() -> ServerName {
        ServerName::new(Self::SERVER)
    }
}

/// How a local tool does what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalWork {
    /// By starting a program.
    Command(CommandTool),
    /// By itself, with the files of one folder.
    Files(FilesTool),
}

/// A program that is started for each call.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandTool {
    /// An absolute path, or a name that is looked up on `PATH`.
    pub program: PathBuf,
    /// Each becomes one argument, or none; no shell is involved.
    pub arguments: Vec<Template>,
    /// JSON Schema of the tool's arguments. Every placeholder is one of its properties.
    pub input_schema: Value,
    /// What the program reads.
    pub stdin: CommandInput,
    /// What its output means.
    pub output: CommandOutput,
    /// How long it may take.
    pub timeout: Duration,
    /// Absolute; our own working directory if absent.
    pub cwd: Option<PathBuf>,
    /// Added to the minimal base environment.
    pub env: BTreeMap<String, Secret>,
    /// A call whose output is longer fails.
    pub max_output_bytes: usize,
}

/// What a program finds on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandInput {
    /// Nothing.
    #[default]
    None,
    /// The arguments as one JSON object.
    Json,
    /// A text with arguments in it.
    Text(Template),
}

/// What the output of a program means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// JSON if it parses, else text.
    #[default]
    Auto,
    /// JSON, or else the call has failed.
    Json,
    /// Text, whatever it looks like.
    Text,
}

impl CommandOutput {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("auto", Self::Auto), ("json", Self::Json), ("text", Self::Text)];
}

/// A built-in tool for the files of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesTool {
    /// What it does with them.
    pub action: FileAction,
    /// Absolute; nothing outside is ever touched.
    pub root: PathBuf,
}

/// What a built-in tool does.
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
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 4] = [
        ("read_file", Self::Read),
        ("write_file", Self::Write),
        ("list_files", Self::List),
        ("glob", Self::Glob),
    ];
}

// Tokens are often passed as arguments.
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
