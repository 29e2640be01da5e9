//! The configuration: where it is found, whether it may be read, and what it says.
//! A configuration that comes out of here is complete and valid; everything wrong
//! with a file is reported at once, each problem with its line and a suggestion.

mod cache;
pub mod document;
mod entry;
mod error;
mod expand;
mod generate;
mod json;
mod limits;
mod load;
mod local_tools;
mod locate;
mod model;
mod oauth;
mod outline;
mod parse;
mod path;
mod pattern;
mod pin;
mod private_file;
mod reader;
mod recursion;
mod schema;
mod server;
mod store;
mod telemetry;
mod trust;
mod workspace;
mod yaml;

pub use cache::{CacheConfig, CacheScope};
pub use error::{ConfigError, ConfigErrors, Problem};
pub use generate::GenerateConfig;
pub use limits::ServerLimits;
pub use load::{Loaded, load};
pub use local_tools::{
    CommandInput, CommandOutput, CommandTool, FileAction, FilesTool, LocalTool, LocalWork, Piece,
    Template,
};
pub use locate::{
    Directories, Found, LOCAL_NAMES, Located, MAX_FILE_BYTES, Origin, Surroundings, locate,
    place_of_changes, places, read_file,
};
pub use model::{
    Config, OAuth, OptionalTool, OutputTypes, ProxyPolicy, RemoteTransport, Sandbox, Secret,
    ServerConfig, StdioTransport, ToolPattern, ToolPolicy, Transport,
};
pub use pattern::PatternError;
pub use private_file::replace_private_file;
pub use schema::{json_schema, reference};
pub use store::{Records, StoreConfig};
pub use telemetry::Telemetry;
pub use trust::{TrustError, TrustStore};
pub use workspace::DEFAULT_MAX_BYTES as DEFAULT_WORKSPACE_BYTES;
