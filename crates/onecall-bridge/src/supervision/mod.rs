//! The life cycle of servers: which servers exist (`fleet`), when each is started, restarted and
//! stopped (`server/`), which of their tools programs may call (`pins`), and what is reported about
//! them (`status`, `snapshot`). No server process outlives the gateway (`group`, `guard`).

pub(crate) mod admitted;
pub(crate) mod backoff;
pub(crate) mod demand;
pub(crate) mod difference;
pub(crate) mod downloads;
pub(crate) mod fleet;
pub(crate) mod group;
pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod pin_storage;
pub(crate) mod pins;
pub(crate) mod server;
pub(crate) mod snapshot;
pub(crate) mod status;
