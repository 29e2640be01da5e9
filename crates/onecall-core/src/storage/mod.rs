//! The storage traits for data that outlives a process: run records, learned result shapes, cached
//! answers, and the last tool lists of servers. The trait [`Store`] is implemented in another
//! crate.
//!
//! A storage error never stops a program: the caller logs the error and continues.

mod answer;
mod error;
mod listing;
mod run;
mod shape;

pub use self::answer::{AnswerKey, AnswerSize, Answers, MAX_ANSWER_BYTES, StoredAnswer, Version};
pub use self::error::StoreError;
pub use self::listing::{ListingKey, Listings, MAX_LISTING_BYTES, StoredListing};
pub use self::run::{
    CallFacts, Found, Retention, RunDetail, RunFilter, RunRecord, RunSummary, Runs,
};
pub use self::shape::{ShapeKey, Shapes, StoredShape};

/// A store for all persistent data. Its methods block for a short time.
pub trait Store: Runs + Shapes + Answers + Listings {}

impl<T: Runs + Shapes + Answers + Listings> Store for T {}
