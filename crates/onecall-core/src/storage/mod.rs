//! What outlives a process, as its users see it: run records, learned shapes of results, cached
//! answers, and the tools that servers listed last. The trait [`Store`] is implemented elsewhere.
//!
//! Storing may never stop a program: a method that fails returns an error to log and forget.

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

/// Everything that is remembered. Methods block, though not for long.
pub trait Store: Runs + Shapes + Answers + Listings {}

impl<T: Runs + Shapes + Answers + Listings> Store for T {}
