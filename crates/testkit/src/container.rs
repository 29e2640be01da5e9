//! Emulates the restrictions that container engines put on a process by default, without a
//! container: Docker's seccomp profile and its capabilities, for the tests; also the profile that
//! is shipped for users who let onecall use namespaces in a container.
//!
//! Not emulated: namespaces, mounts (masked files of `/proc`, `/sys` read-only), cgroups and
//! AppArmor. They remove nothing that the sandbox could use instead. `no_new_privs` is always on,
//! which Docker leaves off: the safe way to install a filter sets it.

mod capabilities;
mod docker;
mod filter;
mod launcher;
mod namespace_calls;
mod profile;
mod system_calls;

pub use docker::default_profile;
pub use launcher::{Container, Seccomp};
pub use namespace_calls::namespace_calls;
pub use profile::{Action, Condition, Operator, Profile, Rule};
pub use system_calls::{SystemCall, system_calls};

/// The profile that is shipped: Docker's default profile and what onecall's namespaces need.
#[must_use]
pub fn shipped_profile() -> Profile {
    let mut profile = default_profile();
    profile.rules.extend(namespace_calls());
    profile
}
