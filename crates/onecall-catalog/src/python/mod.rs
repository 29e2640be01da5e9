//! Writes tools in Python: as a signature on one line, and as a file.

mod compact;
mod declaration;
mod file;
mod keywords;
mod signature;

pub(crate) use file::{header_line, python_file};
pub(crate) use keywords::is_keyword;
pub use keywords::is_keyword_argument;
pub use signature::{python_signature, python_signature_with};
