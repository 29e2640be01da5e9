//! The walls that the Linux kernel provides, one file each.

mod canaries;
mod counted_user;
mod descriptors;
mod filesystem;
mod inheritance;
mod keeper;
mod large_pages;
mod lifetime;
mod namespaces;
mod oom;
mod privileges;
mod report;
mod resources;
mod root;
mod scratch;
mod start_memory;
mod syscalls;
mod walls;

pub use large_pages::use_large_pages;
pub use start_memory::release_start_memory;
pub(crate) use walls::Linux;
