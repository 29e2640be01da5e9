//! What outlives a process: run records, learned shapes of results, cached answers, and the tools
//! of servers as they were listed last.
//!
//! Everybody speaks to the trait [`Store`]; [`open`] makes the one that lives in a file of
//! the user. Nothing here may stop a program: a method that fails gives an error to log and
//! forget, and whoever must not wait for the disk hands the work to a [`Writer`].

mod answer;
mod error;
mod listing;
mod run;
mod shape;
mod sqlite;
mod store;
mod time;
mod writer;

pub use answer::{AnswerKey, AnswerSize, Answers, MAX_ANSWER_BYTES, StoredAnswer, Version};
pub use error::StoreError;
pub use listing::{ListingKey, Listings, MAX_LISTING_BYTES, StoredListing};
pub use run::{CallFacts, Found, Retention, RunDetail, RunFilter, RunRecord, RunSummary, Runs};
pub use shape::{ShapeKey, Shapes, StoredShape};
pub use sqlite::{Inspection, inspect, open, read_listings};
pub use store::Store;
pub use time::Timestamp;
pub use writer::Writer;
