//! Landlock: files can only be opened below the paths that a program was given.
#![expect(unsafe_code, reason = "asking for the kernel's version of landlock has no safe form")]

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::{Jail, ScratchFolder};

/// The newest rules that this crate was tested with; an older kernel applies those it supports.
const NEWEST: ABI = ABI::V7;

/// The rules that every kernel with landlock supports.
const OLDEST: ABI = ABI::V1;

/// Whether this kernel has landlock and it is enabled.
pub(crate) fn is_supported() -> bool {
    /// The flag that requests the version of the interface instead of creating a ruleset.
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    version > 0
}

/// Restricts this process to the jail's paths, to the remapped directories, and to the scratch
/// folder.
pub(crate) fn restrict(
    jail: &Jail,
    remapped: &[(PathBuf, PathBuf)],
    scratch: Option<ScratchFolder>,
) -> io::Result<()> {
    match ruleset(jail, remapped, scratch).map_err(io::Error::other)? {
        // Newer rights (truncating, device controls, TCP, abstract sockets, signals) are a second
        // protection for operations that the system call filter and the namespaces already prevent,
        // so a kernel without them does not count as a missing wall.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(io::Error::other("this kernel has no landlock")),
    }
}

fn ruleset(
    jail: &Jail,
    remapped: &[(PathBuf, PathBuf)],
    scratch: Option<ScratchFolder>,
) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let load = read | AccessFs::Execute;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(&jail.readable, read))?
        .add_rules(path_beneath_rules(remapped.iter().map(|(_, target)| target), read))?
        .add_rules(path_beneath_rules(&jail.loadable, load))?
        .add_rules(path_beneath_rules(&jail.writable, write))?
        .add_rules(path_beneath_rules(scratch.map(|_| ScratchFolder::PATH), write))?
        .restrict_self()?;
    Ok(status.ruleset)
}
