//! The configuration: finding the file, checking whether it is trusted, parsing it, and checking
//! the folders that it opens to programs. A configuration that this crate returns is complete and
//! valid; all problems of a file are reported together, each with its line and a suggestion.

pub mod address;
mod cache;
pub mod document;
mod entry;
mod error;
mod execution;
mod expand;
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
mod outline;
mod overlap;
mod ownership;
mod parse;
mod path;
mod pin;
mod private_file;
mod ptc_mcp;
mod reach;
mod reader;
mod recursion;
mod schema;
mod secrets;
mod server;
mod store;
mod telemetry;
mod trust;
mod workspace;
mod yaml;

pub use error::{ConfigError, ConfigErrors, Problem};
pub use expand::Environment;
pub use format::{Format, Parsed};
pub use generate::GenerateConfig;
pub use limits::ServerLimits;
pub use load::{Loaded, load};
pub use local_tools::{
    CommandInput, CommandOutput, CommandTool, FileAction, FilesTool, LocalTool, LocalWork, Piece,
    Template,
};
pub use locate::{
    Directories, Found, LOCAL_NAMES, Located, MAX_FILE_BYTES, Origin, PTC_MCP_VARIABLE,
    Surroundings, locate, place_of_changes, places, read_file,
};
pub use model::{
    Config, OAuth, OptionalTool, OutputTypes, ProxyPolicy, RemoteTransport, Sandbox,
    SandboxProperty, ServerConfig, StdioTransport, Transport, UnresolvedTransport,
};
pub use onecall_core::Secret;
pub use overlap::{Extent, FolderAccess, OpenFolder, Overlap, ProtectedPlace};
pub use ownership::{check_own_file, check_own_folder};
pub use private_file::{read_private_file, replace_private_file};
pub use reach::{AllowedHost, AllowedHostError};
pub use schema::{json_schema, reference};
pub use secrets::{MAX_SECRET_BYTES, Secrets, SecretsError, SecretsFile};
pub use store::{Logs, Records, StoreConfig};
pub use telemetry::Telemetry;
pub use trust::{TrustError, TrustStore};
pub use workspace::DEFAULT_MAX_BYTES as DEFAULT_WORKSPACE_BYTES;
