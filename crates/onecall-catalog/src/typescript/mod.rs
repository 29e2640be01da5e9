//! Writes tools in TypeScript: as a signature on one line, and as a file.

mod compact;
mod declaration;
mod file;
mod signature;

pub(crate) use file::{TypeScriptFile, local_name, typescript_file};
pub use signature::{typescript_signature, typescript_signature_with};
