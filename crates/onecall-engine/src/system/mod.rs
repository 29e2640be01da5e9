//! System calls that differ between Unix systems.
//!
//! Both modules have the same functions. `other.rs` uses only what every Unix has, so that its
//! tests run on Linux as well.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "compiled for its tests"))]
mod other;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    ExitWatch, RECEIVE_FLAGS, SEND_FLAGS, Wakeup, allow_large_pages, enlarge_pipe,
    open_memory_usage, packet_sockets, prepare_memory_for_forks,
};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{
    ExitWatch, RECEIVE_FLAGS, SEND_FLAGS, Wakeup, allow_large_pages, enlarge_pipe,
    open_memory_usage, packet_sockets, prepare_memory_for_forks,
};
