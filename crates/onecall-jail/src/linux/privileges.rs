//! Removes the privileges of a worker, prevents it from gaining new ones, and protects it from
//! being inspected by other workers.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::counted_user::CountedUser;

/// Gives up every capability and the ways to gain new ones, after this process has become the
/// counted user.
pub(crate) fn drop_all(counted: Option<CountedUser>) -> io::Result<()> {
    counted.map_or(Ok(()), CountedUser::become_real_user)?;
    give_up_all_but(CapabilitySet::empty())?;
    // Programs of one user run at the same time: without this, one could trace another or read its
    // memory through /proc. It comes last, because it also makes /proc/self inaccessible.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Gives up every capability except the one that workers of another program need to become the
/// counted user. That one survives the execution of the program.
pub(crate) fn keep_for_workers(counted: Option<CountedUser>) -> io::Result<()> {
    let kept = match counted {
        Some(_) => CapabilitySet::SETUID,
        None => CapabilitySet::empty(),
    };
    give_up_all_but(kept)
}

fn give_up_all_but(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    reduce_bounding_set(kept)?;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: kept })?;
    if !kept.is_empty() {
        configure_capability_in_ambient_set(kept, true)?;
    }
    Ok(())
}

fn reduce_bounding_set(kept: CapabilitySet) -> io::Result<()> {
    let all = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in all.filter(|capability| !kept.contains(*capability)) {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The kernel has no further capabilities.
            Err(Errno::INVAL) => break,
            // Without the privilege to reduce it, the set stays unchanged. It only matters when a
            // file with capabilities is executed, which `no_new_privs` makes ineffective.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
