//! The layers a tool call walks through, each a host around another host.

mod cache;
mod discovery;
mod fitting;
mod learning;
mod measured;
mod observed;
mod offerings;
mod parallel;
mod policy;
mod quota;
mod template;

pub(crate) use cache::{Cache, CacheControl, Cached, Reused, SystemClock};
pub use discovery::Discovery;
pub use fitting::Fitting;
pub(crate) use learning::Learning;
pub(crate) use measured::Measured;
pub use observed::Observed;
pub use offerings::Offerings;
pub(crate) use offerings::function;
pub use parallel::Parallel;
pub use policy::Policy;
pub use quota::Quota;
