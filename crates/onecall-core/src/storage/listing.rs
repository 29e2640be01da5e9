//! The tools of servers as they were listed last.

use super::StoreError;
use crate::Timestamp;

/// A longer list of tools is not kept, and nothing longer is read.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Tells a server's entry in a configuration from every other one: a hash that says nothing about
/// the secrets in it.
pub type ListingKey = [u8; 32];

/// What a server listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredListing {
    /// The definitions of its tools as JSON; only those who list tools know what it says.
    pub tools: String,
    /// When the server listed them.
    pub seen: Timestamp,
}

/// Remembers what servers listed. It is data from outside: a listing that is larger than listings
/// may be, or was seen in the future, is not given back.
pub trait Listings: Send + Sync {
    /// What the server of this entry listed last, if that was not later than `now`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn listing(
        &self,
        key: &ListingKey,
        now: Timestamp,
    ) -> Result<Option<StoredListing>, StoreError>;

    /// Keeps a listing in place of an earlier one. Those of the same server's name and those of
    /// all servers are limited in number and size: the oldest ones go.
    ///
    /// # Errors
    /// If it is too large, or the store cannot be written.
    fn put_listing(
        &self,
        key: &ListingKey,
        server: &str,
        listing: &StoredListing,
    ) -> Result<(), StoreError>;

    /// Forgets what the server of this entry listed.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_listing(&self, key: &ListingKey) -> Result<(), StoreError>;

    /// Forgets the listings of every entry with this server's name.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_listings_of(&self, server: &str) -> Result<(), StoreError>;
}
