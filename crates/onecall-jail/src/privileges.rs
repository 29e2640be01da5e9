//! A worker has no privilege, gains none, and no sibling may look into it.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Gives up every capability and the ways to new ones.
pub(crate) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    empty_bounding_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // Programs of one user run side by side: without this, one could trace another
    // or read its memory through /proc. Last, because it also takes /proc/self away.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

fn empty_bounding_set() -> io::Result<()> {
    for bit in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
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
