//! Keeps the gateway's environment, which may contain secrets, from programs.
#![expect(unsafe_code, reason = "changing the environment has no safe form")]

/// The only environment variable that a zygote is started with, and its value.
///
/// Without it, the allocator would begin by reserving a gigabyte, which would count as used before
/// any program runs: a program could then fill it regardless of its limit.
pub const ALLOCATOR_SETTING: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32MiB");

/// Removes the allocator's setting, which has already been read, from the environment. The process
/// must have one thread.
pub(crate) fn remove_allocator_setting() {
    // SAFETY: no other thread reads the environment, for there is none.
    unsafe { std::env::remove_var(ALLOCATOR_SETTING.0) }
}
