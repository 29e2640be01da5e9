//! The configuration files of MCP clients: their locations on each operating system, how their
//! servers are read, and how an entry is inserted or removed without any other change. All
//! functions that need no file work on text.

mod client;
mod discovery;
pub mod edit;
mod file;
mod install;
mod own;
mod place;
mod reading;
mod record;
mod reference;
mod secret;
mod server;
mod spot;

pub use client::Client;
pub use discovery::{Discovery, Found, Origin, secrets_in};
pub use file::{FileError, Readers, TextFile};
pub use install::{Change, Request, install, is_left_empty, uninstall};
pub use own::{Switch, own_servers, own_spot, with_servers, with_switch, without_server};
pub use place::{Host, Os, Place, Scope};
pub use record::{Record, Records};
pub use reference::{variable_name, variables};
pub use secret::Secret;
pub use server::{Launch, Remote, Server};
pub use spot::{Format, Shape, Spot};
