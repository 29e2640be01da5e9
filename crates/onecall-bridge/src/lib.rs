//! The connection to downstream MCP servers: this crate starts them, lists their tools, calls
//! these, and stops every server that it started.
//!
//! A server is not trusted. Whatever it sends or fails to send becomes an error of the call
//! concerned, never a panic, a hang or unbounded memory. Values pass through as text; only the
//! program that asked for them parses them.

mod bridge;
mod connection_options;
mod error;
mod local;
mod protocol;
mod supervision;
mod system;
mod transport;
mod users;

pub use bridge::Bridge;
pub use connection_options::ConnectionOptions;
pub use protocol::display_metadata::ToolDisplayMetadata;
pub use protocol::gateway_clients::{ClientRegistration, GatewayClients};
pub use protocol::handshake::KNOWN_VERSIONS as KNOWN_PROTOCOLS;
pub use protocol::resources::ResourceRequestError;
pub use protocol::server_events::{ServerEvent, ServerEventKind, ServerEvents};
pub use supervision::admitted::{AdmittedTools, local_definitions};
pub use supervision::demand::ServerStart;
pub use supervision::difference::DefinitionPart;
pub use supervision::downloads::Downloads;
pub use supervision::fleet::FleetChange;
pub use supervision::guard::{Guard, run_guard};
pub use supervision::identity::ServerIdentity;
pub use supervision::pin_storage::{PinStorage, SharedPins, VersionedPins};
pub use supervision::pins::{PinError, PinState, Pins, QuarantinedTool};
pub use supervision::snapshot::{CurrentTools, ToolWatch};
pub use supervision::status::{
    AVAILABILITY_LOG_TARGET, FailureKind, LIFECYCLE_LOG_TARGET, ListingCut, ListingLimit,
    NextStart, SERVER_LOG_TARGET, ServerState, ServerStatus,
};
pub use transport::environment::{HELPFUL_VARIABLES, base_environment, is_passed_on};
pub use transport::http::{ProbeError, probe_auth_requirement};
pub use users::{AccessHint, UserCredentials, UserProcesses, UserServer, UserServers};
