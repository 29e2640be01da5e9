//! The configuration as the rest of the program sees it: complete, validated,
//! with every default filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::{EngineChoice, Limits, ServerName, SessionLimits, Workspace};

use crate::cache::CacheConfig;
use crate::generate::GenerateConfig;
use crate::limits::ServerLimits;
use crate::local_tools::LocalTool;
use crate::store::{Records, StoreConfig};
use crate::telemetry::Telemetry;

/// Everything a configuration file can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The servers to bridge, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// Which of their tools programs may call.
    pub tools: ToolPolicy,
    /// What one program may use.
    pub execution: Limits,
    /// How many sessions there may be, and for how long.
    pub sessions: SessionLimits,
    /// Tools of ours that agents are not shown unless they are named here.
    pub expose: Vec<OptionalTool>,
    /// Bridged tools that agents are shown as they are, beside ours.
    pub expose_tools: Vec<ToolPattern>,
    /// What is taken from one server.
    pub limits: ServerLimits,
    /// What to do where the kernel cannot lock a program in completely.
    pub sandbox: Sandbox,
    /// What runs programs that do not ask for anything else.
    pub engine: EngineChoice,
    /// The system's Python: an executable or the folder of a virtual environment;
    /// `python3` on `PATH` if absent.
    pub python: Option<PathBuf>,
    /// The one directory that programs may use.
    pub workspace: Option<Workspace>,
    /// Which servers a plan may bring along.
    pub proxy: ProxyPolicy,
    /// Tools that need no server, in the order of the file.
    pub local_tools: Vec<LocalTool>,
    /// Whether what tools answer tells their output types.
    pub output_types: OutputTypes,
    /// How generated files are sorted.
    pub generate: GenerateConfig,
    /// How much of each run is kept.
    pub records: Records,
    /// Where, and for how long.
    pub store: StoreConfig,
    /// Whether agents are told what a program saved them.
    pub report_savings: bool,
    /// How answers of tools are used again, if they are.
    pub cache: Option<CacheConfig>,
    /// Where spans are sent.
    pub telemetry: Telemetry,
}

/// Where the types of what tools answer come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputTypes {
    /// From the server, or else from the answers themselves.
    #[default]
    Learned,
    /// From the server alone.
    Declared,
}

/// A tool of ours that agents are shown on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionalTool {
    /// Runs a program and answers with everything about it, as JSON.
    ProgrammaticToolCalling,
}

impl OptionalTool {
    /// Every such tool, as it is written.
    pub const NAMES: [(&str, Self); 1] =
        [("programmatic_tool_calling", Self::ProgrammaticToolCalling)];
}

/// Which servers a plan may bring along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyPolicy {
    /// Whether it may at all.
    pub dynamic_servers: bool,
    /// Where they may be, beside this machine's loopback: `host` or `host:port`.
    pub allowed_hosts: Vec<String>,
}

/// How much of a sandbox programs need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// No program runs unless every wall stands.
    #[default]
    Required,
    /// Programs run behind the walls that the kernel can build.
    BestEffort,
    /// Programs run without walls; only their limits hold.
    Off,
}

impl Sandbox {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("required", Self::Required), ("best-effort", Self::BestEffort), ("off", Self::Off)];
}

/// One downstream MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Unique among the servers.
    pub name: ServerName,
    /// How to reach it.
    pub transport: Transport,
    /// How long starting and listing tools may take before it counts as failed.
    pub connect_timeout: Duration,
    /// How long one tool call may take.
    pub call_timeout: Duration,
    /// Whether it is started only when somebody needs it.
    pub lazy: bool,
    /// The file in which its tools are remembered, if only those may be called that
    /// are as they were.
    pub pins: Option<PathBuf>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio(StdioTransport),
    /// Streamable HTTP, or else HTTP with server-sent events: as the server answers.
    Auto(RemoteTransport),
    /// Streamable HTTP and nothing else.
    Http(RemoteTransport),
    /// HTTP with server-sent events, as before protocol revision 2025-03-26.
    Sse(RemoteTransport),
}

/// A child process to start.
#[derive(Clone, PartialEq, Eq)]
pub struct StdioTransport {
    /// Looked up on `PATH` if it has no slash.
    pub command: String,
    /// Passed as they are; no shell is involved.
    pub args: Vec<String>,
    /// Added to the minimal base environment.
    pub env: BTreeMap<String, Secret>,
    /// Working directory; ours if absent.
    pub cwd: Option<PathBuf>,
}

/// A remote endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteTransport {
    /// `http://` or `https://`.
    pub url: String,
    /// Sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// How the user may log in if the server asks for that; `None` if nobody does:
    /// the address or the headers say already who asks.
    pub oauth: Option<OAuth>,
}

/// How to log in to a remote server. Usually there is nothing to say: the server
/// tells where to log in, and we are registered there by ourselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuth {
    /// What we are known as, where it was registered by hand.
    pub client_id: Option<String>,
    /// What proves it, where there is such a thing.
    pub client_secret: Option<Secret>,
    /// What to ask for; what the server asks for if empty.
    pub scopes: Vec<String>,
    /// The port of this machine that the browser comes back to; any if absent.
    pub redirect_port: Option<u16>,
}

// Tokens are often passed as arguments, and in any part of a URL but its host.
impl fmt::Debug for StdioTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StdioTransport")
            .field("command", &self.command)
            .field("args", &format_args!("[{} hidden]", self.args.len()))
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for RemoteTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after_scheme = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        formatter
            .debug_struct("RemoteTransport")
            .field("host", &host)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// A value that must not be shown: its debug text is a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `value` from debug output.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// Which tools programs may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolPolicy {
    /// Every tool of every server.
    #[default]
    AllowAll,
    /// Only tools that match one of these patterns.
    Allow(Vec<ToolPattern>),
    /// Every tool that matches none of these patterns.
    Block(Vec<ToolPattern>),
}

/// A callable name in which `*` stands for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(pub(crate) String);
