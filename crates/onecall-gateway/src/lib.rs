//! The gateway: puts together a configuration, the servers that it bridges, the runtime that runs
//! programs with their tools, and the store. It can switch to another configuration while it runs.

mod bridged;
mod bridged_resources;
mod direct_call;
mod exposed;
mod gateway;
mod identities;
mod last_seen;
mod listed;
mod plan;
mod reload;
mod revision;
mod rules;
mod search;
mod seen_tools;
mod settings;
mod tool_folder;
mod tree;
mod unused;

pub use exposed::ExposedTool;
pub use gateway::{Gateway, GatewayStorage, ToolNotFound};
pub use last_seen::{Asked, LastSeen};
pub use listed::Listed;
pub use onecall_bridge::ToolFace;
pub use reload::Reloaded;
pub use search::{Findings, NoSuchServer, ToolFinding, ToolSearch};
pub use seen_tools::SeenTools;
pub use settings::{record_settings, redactor};
pub use tool_folder::ToolFolder;
pub use tree::ToolTree;
pub use unused::unused_entries;
