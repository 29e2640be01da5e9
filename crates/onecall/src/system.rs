//! Process settings that only Linux has, with replacements for other systems, and the name of the
//! user.

use std::io;

/// The name of the user that runs this process: as the system has it, or else the environment.
pub(crate) fn user_name() -> String {
    let user = rustix::process::getuid().as_raw();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    account_name(&accounts, user)
        .or_else(|| variable("LOGNAME"))
        .or_else(|| variable("USER"))
        .unwrap_or_else(|| format!("user {user}"))
}

/// The name of a user in the lines of `/etc/passwd`.
fn account_name(accounts: &str, user: u32) -> Option<String> {
    let name = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(user) && !name.is_empty()).then(|| name.to_owned())
    };
    accounts.lines().find_map(name)
}

/// Disables huge pages for this process and those that it starts; this must happen first, because memory
/// in use is not changed. Huge pages speed up programs that handle much data, so a zygote enables them again. The
/// gateway handles little data, and would only use more memory.
#[cfg(target_os = "linux")]
pub(crate) fn use_small_pages() {
    // An error means that the kernel has no huge pages.
    _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Gives memory back that only the start of this process needed.
#[cfg(target_os = "linux")]
pub(crate) fn release_start_memory() {
    if let Err(error) = onecall_engine::release_start_memory() {
        tracing::debug!("the memory of the start cannot be given back: {error}");
    }
}

/// Prevents other processes from reading the environment and memory of this process through `/proc`
/// or by tracing it, and prevents core dumps, which could contain secrets. Servers and commands run
/// as the same user. Processes that it starts are not affected: executing a file resets the
/// protection.
#[cfg(target_os = "linux")]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Does nothing: this system chooses the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn use_small_pages() {}

/// Does nothing: this system decides itself what stays in memory.
#[cfg(not(target_os = "linux"))]
pub(crate) fn release_start_memory() {}

/// Does nothing: this system itself decides which processes may read another one.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_of_the_system() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(account_name(accounts, 1000).as_deref(), Some("ada"));
        assert_eq!(account_name(accounts, 1001), None);
        assert!(!user_name().is_empty());
    }
}
