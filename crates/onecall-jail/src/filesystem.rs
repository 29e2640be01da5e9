//! Landlock: no file may be opened but below the paths a program was given.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::Jail;

/// The newest rules this crate was tested with; an older kernel applies those it has.
const NEWEST: ABI = ABI::V7;

/// What every kernel with landlock has.
const OLDEST: ABI = ABI::V1;

/// Restricts this process to the jail's paths, and to those of what is presented.
pub(crate) fn restrict(jail: &Jail, presented: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    match ruleset(jail, presented).map_err(io::Error::other)? {
        // Newer rights (truncating, device controls, TCP, abstract sockets, signals)
        // are a second lock on doors that the system call filter and the namespaces
        // shut, so a kernel without them is not a missing wall.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(io::Error::other("this kernel has no landlock")),
    }
}

fn ruleset(jail: &Jail, presented: &[(PathBuf, PathBuf)]) -> Result<RulesetStatus, RulesetError> {
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
        .add_rules(path_beneath_rules(presented.iter().map(|(_, place)| place), read))?
        .add_rules(path_beneath_rules(&jail.loadable, load))?
        .add_rules(path_beneath_rules(&jail.writable, write))?
        .restrict_self()?;
    Ok(status.ruleset)
}
