//! The configuration files of MCP clients: their locations on each operating system, how their
//! servers are read, and how an entry is inserted or removed without any other change. All
//! functions that need no file work on text.

mod client;
mod client_entry;
mod discovery;
pub mod edit;
mod file;
mod install;
mod location;
mod own_config;
mod record;
mod reference;
mod secret;
mod section;
mod server;

pub use client::Client;
pub use discovery::{DiscoveredServer, Discovery, ServerOrigin, secrets_in};
pub use file::{FileError, ReadableBy, TextFile};
pub use install::{InstallChange, InstallRequest, has_only_onecall_content, install, uninstall};
pub use location::{ClientFileLocation, Os, Scope, UserEnvironment};
pub use own_config::{
    Switch, own_config_section, own_config_servers, with_servers, with_switch, without_server,
};
pub use record::{InstallRecord, InstallRecords};
pub use reference::{referenced_variables, variable_name};
pub use secret::Secret;
pub use section::{FileFormat, SectionShape, ServerSection};
pub use server::{HttpTransport, Launch, Server};
