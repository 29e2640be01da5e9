//! The gateway's environment may hold secrets; a program sees none of it.
#![expect(unsafe_code, reason = "changing the environment has no safe form")]

/// The one variable, with its value, that a zygote is started with.
///
/// Its allocator would otherwise begin by reserving a gigabyte, which would count as
/// in use before any program: a program could fill it whatever its limit.
pub const ALLOCATOR_SETTING: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32MiB");

/// Takes the allocator's setting, which has been read by now, out of sight. The
/// process must have one thread.
pub(crate) fn forget_allocator_setting() {
    // SAFETY: no other thread reads the environment, for there is none.
    unsafe { std::env::remove_var(ALLOCATOR_SETTING.0) }
}
