//! A worker has no privilege, gains none, and no sibling may look into it.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::counted::CountedUser;

/// Gives up every capability and the ways to new ones, after this process has become the user
/// whose threads the kernel counts.
pub(crate) fn drop_all(counted: Option<CountedUser>) -> io::Result<()> {
    counted.map_or(Ok(()), CountedUser::assume)?;
    give_up_all_but(CapabilitySet::empty())?;
    // Programs of one user run side by side: without this, one could trace another
    // or read its memory through /proc. Last, because it also takes /proc/self away.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Gives up every capability but the one that workers of another program need to become the
/// counted user. It outlasts the execution of that program.
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
            // One more than the kernel's last capability.
            Err(Errno::INVAL) => break,
            // Without the privilege to shrink it the set stays as it is. It only counts
            // when a file with capabilities is executed, and `no_new_privs` forbids that.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
