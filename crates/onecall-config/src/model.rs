//! The configuration in the form that the other crates use: complete, validated and with all
//! defaults filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use onecall_core::{
    CacheSettings, EngineChoice, RunLimits, Secret, ServerName, SessionLimits, ToolPattern,
    ToolPolicy, TotalLimits, Workspace,
};
use url::{Position, Url};

use crate::allowed_hosts::AllowedHost;
use crate::approvals::ApprovalSettings;
use crate::fleet::FleetConfig;
use crate::generate::GenerateConfig;
use crate::limits::ServerLimits;
use crate::local_tools::LocalTool;
use crate::store::{LogFiles, RecordLevel, StoreConfig};
use crate::telemetry::TelemetryConfig;
use crate::user_template::PerUserSettings;
use crate::users::{AuditLevel, UsersConfig};

/// The complete configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The servers to bridge, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// Which of the servers' tools programs may call.
    pub tools: ToolPolicy,
    /// The limits of one program.
    pub execution: RunLimits,
    /// The limits of all programs together.
    pub totals: TotalLimits,
    /// The limits of sessions.
    pub sessions: SessionLimits,
    /// Optional tools of onecall that are shown to agents.
    pub optional_tools: Vec<OptionalTool>,
    /// Keys of the file that have a clearer name now.
    pub former_names: Vec<FormerName>,
    /// Tools of the servers that are shown to agents directly, besides those of onecall.
    pub expose_tools: Vec<ToolPattern>,
    /// Servers whose resources are shown to agents directly; patterns of names as callable names
    /// spell them.
    pub expose_resources: Vec<ToolPattern>,
    /// Servers whose prompts are shown to agents directly; patterns of names as callable names spell
    /// them.
    pub expose_prompts: Vec<ToolPattern>,
    /// The names that exposed tools and prompts have for agents.
    pub expose_names: ExposedNames,
    /// The limits on what one server may send.
    pub limits: ServerLimits,
    /// What to do if the kernel cannot provide the complete sandbox.
    pub sandbox: SandboxMode,
    /// Sandbox properties that are not required.
    pub sandbox_without: Vec<SandboxProperty>,
    /// The engine for programs that do not choose one.
    pub engine: EngineChoice,
    /// The Python of the system: an executable or the folder of a virtual environment; `python3` on
    /// `PATH` if absent.
    pub python: Option<PathBuf>,
    /// The directory that programs may use.
    pub workspace: Option<Workspace>,
    /// The servers that a plan may define.
    pub proxy: ProxyPolicy,
    /// The local tools, in the order of the file.
    pub local_tools: Vec<LocalTool>,
    /// Whether output types are learned from the answers of tools.
    pub output_types: OutputTypeSource,
    /// How generated files are grouped.
    pub generate: GenerateConfig,
    /// How much of each run is recorded.
    pub records: RecordLevel,
    /// Where and how long data is stored.
    pub store: StoreConfig,
    /// Whether the output of servers and the gateway is written to log files.
    pub logs: LogFiles,
    /// Whether agents are shown how many tokens a program saved.
    pub report_savings: bool,
    /// The settings of the answer cache, if it is enabled.
    pub cache: Option<CacheSettings>,
    /// Which calls wait for a person, if any do.
    pub approvals: Option<ApprovalSettings>,
    /// Whether every run is journalled, not only those that may have to ask.
    pub durable: bool,
    /// Where trace spans are sent.
    pub telemetry: TelemetryConfig,
    /// How this gateway works together with others, if it is one of several.
    pub fleet: Option<FleetConfig>,
    /// Who may use the gateway over HTTP, if it distinguishes users.
    pub users: Option<UsersConfig>,
    /// The file or folder of Cedar policies, if calls are decided by policies.
    pub policy: Option<PathBuf>,
    /// What the audit trail keeps.
    pub audit: AuditLevel,
    /// The user's secrets, which references in any text may have expanded to; no record may show
    /// them.
    pub secrets: Vec<Secret>,
}

/// The source of output types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputTypeSource {
    /// The server's declarations, or else the answers of the tools.
    #[default]
    Learned,
    /// Only the server's declarations.
    Declared,
}

/// A key of the configuration that is written with its former name, which still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerName {
    /// The name in the file.
    pub former: &'static str,
    /// The name that the key has now.
    pub name: &'static str,
    /// The line of the key.
    pub line: usize,
}

impl fmt::Display for FormerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { former, name, line } = self;
        write!(
            formatter,
            "'{former}' on line {line} is now called '{name}'; the former name still works"
        )
    }
}

/// A tool of onecall that is shown to agents only on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionalTool {
    /// A tool that runs a program and returns its complete outcome as JSON.
    ProgrammaticToolCalling,
}

impl OptionalTool {
    /// Every such tool with its name in the configuration.
    pub const NAMES: [(&str, Self); 1] =
        [("programmatic_tool_calling", Self::ProgrammaticToolCalling)];
}

/// The names that exposed tools and prompts have for agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExposedNames {
    /// Their callable names, which contain the name of the server.
    #[default]
    Callable,
    /// The names that they have on their servers, where these are unique.
    Own,
}

impl ExposedNames {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] = [("callable", Self::Callable), ("own", Self::Own)];
}

/// The servers that a plan may define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyPolicy {
    /// Whether a plan may define servers.
    pub dynamic_servers: bool,
    /// The hosts on which they may be.
    pub allowed_hosts: Vec<AllowedHost>,
}

/// How much of the sandbox is required to run programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// No program runs unless every property of the sandbox holds.
    #[default]
    Required,
    /// Programs run with the protection that the kernel can provide, if it keeps them from files,
    /// networks and other processes.
    BestEffort,
    /// Programs run without a sandbox; only their limits are enforced.
    Off,
}

impl SandboxMode {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("required", Self::Required), ("best-effort", Self::BestEffort), ("off", Self::Off)];
}

/// Something that the sandbox prevents programs from doing.
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
    /// Accessing the open files and the environment of the gateway.
    Inheritance,
    /// Exceeding their limits.
    Limits,
}

impl SandboxProperty {
    /// Every property with its name in the configuration.
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

    /// The name of the property in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

/// One downstream MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name, unique among the servers.
    pub name: ServerName,
    /// How the server is reached.
    pub transport: Transport,
    /// The time limit for starting the server and listing its tools; absent if the entry does not
    /// set it.
    pub connect_timeout: Option<Duration>,
    /// The time limit of one call; if absent, only the program's limit applies.
    pub call_timeout: Option<Duration>,
    /// Whether the server is started only on demand.
    pub lazy: bool,
    /// The file with the server's pins, if only pinned tools may be called.
    pub pins: Option<PathBuf>,
    /// What the server needs from each user. A server that needs something cannot be started before
    /// [`for_user`](Self::for_user) has filled it in.
    pub per_user: PerUserSettings,
}

impl ServerConfig {
    const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

    /// The time limit for starting the server and listing its tools, if nothing has to be
    /// downloaded.
    #[must_use]
    pub fn connect_timeout_or_default(&self) -> Duration {
        self.connect_timeout.unwrap_or(Self::DEFAULT_CONNECT_TIMEOUT)
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process with the protocol on its standard streams.
    Stdio(StdioTransport),
    /// Streamable HTTP, or else HTTP with server-sent events, whichever the server supports.
    Auto(RemoteTransport),
    /// Streamable HTTP at one address, or else HTTP with server-sent events at another one; for a
    /// server of which only the host and port are known.
    Either {
        /// The address that is tried first.
        http: RemoteTransport,
        /// The address that is tried if nothing at the first one speaks MCP.
        sse: RemoteTransport,
    },
    /// Streamable HTTP only.
    Http(RemoteTransport),
    /// HTTP with server-sent events, as before protocol revision 2025-03-26.
    Sse(RemoteTransport),
    /// Unknown, because the entry refers to variables that are not set.
    Unresolved(UnresolvedTransport),
}

/// An entry that refers to unset variables or to missing secrets of the user. Its server is not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedTransport {
    /// The transport it would have: `stdio` or `http`.
    pub kind: &'static str,
    /// The unset variables, or the missing secrets of the user, without duplicates.
    pub variables: Vec<String>,
    /// Why the credentials of the user cannot be used, and what to do about it; `None` if variables are
    /// not set.
    pub credentials_problem: Option<String>,
}

impl fmt::Display for UnresolvedTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(problem) = &self.credentials_problem {
            return formatter.write_str(problem);
        }
        let names = self.variables.join(", ");
        let (what, are, set) = match self.variables.as_slice() {
            [name] => ("the variable", "which is", name.as_str()),
            _ => ("the variables", "which are", "NAME"),
        };
        write!(
            formatter,
            "its entry refers to {what} {names}, {are} not set; `onecall secrets set {set}` stores \
             a value, or set it before onecall starts"
        )
    }
}

/// A child process to start.
#[derive(Clone, PartialEq, Eq)]
pub struct StdioTransport {
    /// The command, looked up on `PATH` if it has no slash.
    pub command: String,
    /// The arguments, passed unchanged; no shell is involved.
    pub args: Vec<String>,
    /// Variables that are added to the minimal base environment.
    pub env: BTreeMap<String, Secret>,
    /// The working directory; that of the gateway if absent.
    pub cwd: Option<PathBuf>,
}

/// The address of a remote server.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteTransport {
    /// The `http://` or `https://` URL.
    pub url: String,
    /// Headers that are sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// How the user may log in if the server requires it; `None` if the URL or the headers already
    /// contain credentials.
    pub oauth: Option<OAuthConfig>,
}

/// The settings of a login to a remote server. Usually none are needed: the server names its
/// authorization server, and the client is registered there dynamically.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuthConfig {
    /// The issuer name of the authorization server; if absent, the one that the server names. Its
    /// endpoints may be on other origins.
    pub issuer: Option<String>,
    /// The client id, if the client was registered by hand.
    pub client_id: Option<String>,
    /// The client secret, if there is one.
    pub client_secret: Option<Secret>,
    /// The scopes to request; if empty, those that the server asks for.
    pub scopes: Vec<String>,
    /// The local port for the redirect of the browser; any free port if absent.
    pub redirect_port: Option<u16>,
}

// Arguments and all parts of a URL except its host are hidden, because they often contain tokens.
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
