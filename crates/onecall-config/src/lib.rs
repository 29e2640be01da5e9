//! The configuration: finding the file, checking whether it is trusted, parsing it, and checking
//! the folders that it opens to programs. A configuration that this crate returns is complete and
//! valid; all problems of a file are reported together, each with its line and a suggestion.

pub mod address;
mod allowed_hosts;
mod approvals;
mod cache;
pub mod document;
mod entry;
mod error;
mod execution;
mod expand;
mod fleet;
mod format;
mod generate;
mod json;
mod limits;
mod load;
mod local_tools;
mod locate;
mod merge;
mod model;
mod oauth;
mod overlap;
mod ownership;
mod parse;
mod path;
mod pin;
mod private_file;
mod ptc_mcp;
mod reader;
mod recursion;
mod schema;
mod secrets;
mod server;
mod store;
mod telemetry;
mod trust;
mod user_template;
mod users;
mod workspace;
mod yaml;
mod yaml_limits;

pub use allowed_hosts::{AllowedHost, AllowedHostError};
pub use approvals::{ApprovalSettings, Webhook};
pub use error::{ConfigError, ConfigErrors, Problem};
pub use expand::Environment;
pub use fleet::FleetConfig;
pub use format::{ConfigFormat, ParsedConfig};
pub use generate::GenerateConfig;
pub use limits::ServerLimits;
pub use load::{LoadedConfig, load};
pub use local_tools::{
    CommandInput, CommandOutput, CommandTool, FileAction, FilesTool, LocalTool, LocalToolKind,
    Template, TemplatePart,
};
pub use locate::{
    ConfigOrigin, Directories, FoundConfigFile, LOCAL_NAMES, LocatedConfig, MAX_FILE_BYTES,
    PTC_MCP_VARIABLE, ProcessContext, candidate_files, file_to_edit, locate, read_file,
};
pub use model::{
    Config, ExposedNames, FormerName, OAuthConfig, OptionalTool, OutputTypeSource, ProxyPolicy,
    RemoteTransport, SandboxMode, SandboxProperty, ServerConfig, StdioTransport, Transport,
    UnresolvedTransport,
};
pub use onecall_core::Secret;
pub use overlap::{FolderAccess, Overlap, ProgramFolder, ProtectedExtent, ProtectedPath};
pub use ownership::{check_own_file, check_own_folder};
pub use private_file::{open_lock_file, read_private_file, read_secret_file, replace_private_file};
pub use schema::{json_schema, markdown_reference};
pub use secrets::{MAX_SECRET_BYTES, Secrets, SecretsError, SecretsFile};
pub use store::{LogFiles, RecordLevel, StoreConfig, StoreLocation, hide_database_password};
pub use telemetry::TelemetryConfig;
pub use trust::{TrustError, TrustStore};
pub use user_template::{MissingSecrets, PerUserSettings, UserTemplate};
pub use users::{AuditLevel, OidcConfig, UsersConfig};
pub use workspace::DEFAULT_MAX_BYTES as DEFAULT_WORKSPACE_BYTES;
