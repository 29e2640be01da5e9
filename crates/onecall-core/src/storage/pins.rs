//! The storage trait for pins: the definitions of tools that a person has accepted, where several gateways
//! share them.

use super::{ReplacedVersion, StoreError, WriteOutcome};
use crate::Timestamp;

/// The pins of a server as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPins {
    /// The pinned definitions as JSON.
    pub content: String,
    /// Counts the changes of the pins.
    pub version: u64,
}

/// Stores the pins of servers. What a method writes is on disk when it returns.
pub trait PinStore: Send + Sync {
    /// The pins of the server with this key, if it has some.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn pins(&self, key: &str) -> Result<Option<StoredPins>, StoreError>;

    /// Stores pins, if the version that they replace is the expected one.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_pins(
        &self,
        key: &str,
        content: &str,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError>;

    /// A number that changes whenever pins may have changed, by any process.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn pins_change_number(&self) -> Result<i64, StoreError>;
}
