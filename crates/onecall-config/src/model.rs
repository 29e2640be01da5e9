//! The configuration as the rest of the program sees it: complete, validated,
//! with every default filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::{
    CacheSettings, EngineChoice, Limits, Secret, ServerName, SessionLimits, ToolPattern,
    ToolPolicy, TotalLimits, Workspace,
};
use url::{Position, Url};

use crate::generate::GenerateConfig;
use crate::limits::ServerLimits;
use crate::local_tools::LocalTool;
use crate::reach::AllowedHost;
use crate::store::{Logs, Records, StoreConfig};
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
    /// What all programs together may use.
    pub totals: TotalLimits,
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
    /// Properties of the sandbox that programs run without.
    pub sandbox_without: Vec<SandboxProperty>,
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
    /// Whether what servers and the gateway say is kept in log files.
    pub logs: Logs,
    /// Whether agents are told what a program saved them.
    pub report_savings: bool,
    /// How answers of tools are used again, if they are.
    pub cache: Option<CacheSettings>,
    /// Where spans are sent.
    pub telemetry: Telemetry,
    /// The user's secrets, which references in any text may stand for; no record may show them.
    pub secrets: Vec<Secret>,
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
    /// Where they may be.
    pub allowed_hosts: Vec<AllowedHost>,
}

/// How much of a sandbox programs need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// No program runs unless every property of the sandbox holds.
    #[default]
    Required,
    /// Programs run behind the walls that the kernel can build, if these keep them from files,
    /// networks and other processes.
    BestEffort,
    /// Programs run without walls; only their limits hold.
    Off,
}

impl Sandbox {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("required", Self::Required), ("best-effort", Self::BestEffort), ("off", Self::Off)];
}

/// Something that the sandbox keeps programs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxProperty {
    /// Reading and writing files.
    Files,
    /// Learning which files exist.
    Metadata,
    /// Reaching a network.
    Network,
    /// Seeing and signalling other processes.
    Processes,
    /// Learning the names of the machine and its user.
    Names,
    /// Gaining privileges.
    Privileges,
    /// Seeing what the gateway has open and in its environment.
    Inheritance,
    /// Exceeding their limits.
    Limits,
}

impl SandboxProperty {
    /// Every property, as it is written.
    pub const NAMES: [(&str, Self); 8] = [
        ("files", Self::Files),
        ("metadata", Self::Metadata),
        ("network", Self::Network),
        ("processes", Self::Processes),
        ("names", Self::Names),
        ("privileges", Self::Privileges),
        ("inheritance", Self::Inheritance),
        ("limits", Self::Limits),
    ];

    /// The name that configurations use.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

/// One downstream MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Unique among the servers.
    pub name: ServerName,
    /// How to reach it.
    pub transport: Transport,
    /// How long starting and listing tools may take before it counts as failed.
    /// Absent if the entry does not say.
    pub connect_timeout: Option<Duration>,
    /// How long one call may take; otherwise as long as the program that makes it.
    pub call_timeout: Option<Duration>,
    /// Whether it is started only when somebody needs it.
    pub lazy: bool,
    /// The file in which its tools are remembered, if only those may be called that
    /// are as they were.
    pub pins: Option<PathBuf>,
}

impl ServerConfig {
    const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

    /// How long starting and listing tools may take when nothing has to be downloaded for it.
    #[must_use]
    pub fn usual_connect_timeout(&self) -> Duration {
        self.connect_timeout.unwrap_or(Self::DEFAULT_CONNECT_TIMEOUT)
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio(StdioTransport),
    /// Streamable HTTP, or else HTTP with server-sent events: as the server answers.
    Auto(RemoteTransport),
    /// Streamable HTTP at one address, or else HTTP with server-sent events at another: of a server
    /// whose host and port are known, and no more.
    Either {
        /// Tried first.
        http: RemoteTransport,
        /// Tried if nothing at the first address speaks MCP.
        sse: RemoteTransport,
    },
    /// Streamable HTTP and nothing else.
    Http(RemoteTransport),
    /// HTTP with server-sent events, as before protocol revision 2025-03-26.
    Sse(RemoteTransport),
    /// Not known as things are, because the entry refers to variables that are not set.
    Unresolved(UnresolvedTransport),
}

/// An entry whose variables are not all set. Its server is not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedTransport {
    /// How the server would be reached: `stdio` or `http`.
    pub kind: &'static str,
    /// The variables that are not set, each once.
    pub variables: Vec<String>,
}

impl fmt::Display for UnresolvedTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.join(", ");
        let (what, are, set) = match self.variables.as_slice() {
            [name] => ("the variable", "which is", name.as_str()),
            _ => ("the variables", "which are", "NAME"),
        };
        write!(
            formatter,
            "its entry refers to {what} {names}, {are} not set; `onecall secrets set {set}` keeps a \
             value, or set it before onecall starts"
        )
    }
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
    /// The authorization server to log in at, as it calls itself; the one that the server names
    /// if absent. Its endpoints may be of other origins.
    pub issuer: Option<String>,
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
        let url = Url::parse(&self.url).ok();
        let host = url.as_ref().map_or("", |url| &url[Position::BeforeHost..Position::AfterPort]);
        formatter
            .debug_struct("RemoteTransport")
            .field("host", &host)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
