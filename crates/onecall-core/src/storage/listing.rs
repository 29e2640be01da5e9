//! The storage trait for the tool lists that servers sent last. With them, the tools of a server
//! are known before it is connected.

use super::StoreError;
use crate::Timestamp;

/// The largest tool list that is stored or read.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Identifies a server's entry in a configuration: a hash that reveals nothing about the secrets in
/// it.
pub type ListingKey = [u8; 32];

/// The tool list of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredListing {
    /// The tool definitions as JSON, in a format that only the component that lists tools reads.
    pub tools: String,
    /// When the server listed them.
    pub seen: Timestamp,
}

/// Stores the tool lists of servers. Stored data is not trusted: a list that is larger than the
/// limit, or has a date in the future, is not returned.
pub trait ToolListStore: Send + Sync {
    /// The last tool list of the server with this key, unless it is dated after `now`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn listing(
        &self,
        key: &ListingKey,
        now: Timestamp,
    ) -> Result<Option<StoredListing>, StoreError>;

    /// Stores a tool list and replaces an earlier one. The number and size of lists are limited,
    /// per server name and in total: the oldest ones are removed.
    ///
    /// # Errors
    /// If it is too large, or the store cannot be written.
    fn put_listing(
        &self,
        key: &ListingKey,
        server: &str,
        listing: &StoredListing,
    ) -> Result<(), StoreError>;

    /// Removes the tool list with this key.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_listing(&self, key: &ListingKey) -> Result<(), StoreError>;

    /// Removes the tool lists of all entries with this server name.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_listings_of(&self, server: &str) -> Result<(), StoreError>;
}
