//! Journalled runs that are cut off and repeated by another worker, on the engines themselves.

mod host;
mod python;
mod typescript;
