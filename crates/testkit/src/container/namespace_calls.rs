//! The system calls by which the sandbox creates namespaces and an empty root, with exactly the
//! flags that it passes: `crates/onecall-jail/src/linux/{namespaces,root,scratch}.rs` make them.

use rustix::fs::AtFlags;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags,
};
use rustix::thread::UnshareFlags;

use super::profile::{Condition, Operator, Rule};

/// Changes an existing mount.
const REMOUNT: u32 = 0x20;

/// The commands that set an option of a new file system, and create it.
const SET_STRING: u32 = 1;
const CREATE: u32 = 6;

/// The length of `onecall`, the host name that programs see.
const HOST_NAME_BYTES: u32 = 7;

/// The rules that Docker's default profile lacks for them.
#[must_use]
pub fn namespace_calls() -> Vec<Rule> {
    let namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP
        | UnshareFlags::NEWNS;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    let harmless = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let read_only = harmless | MountFlags::BIND | MountFlags::RDONLY;
    let copy = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let below = AtFlags::EMPTY_PATH.bits() | OpenTreeFlags::AT_RECURSIVE.bits();
    let no_programs = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let place = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    vec![
        exactly("unshare", 0, namespaces.bits())
            .because("namespaces for programs: all kinds at once, which needs no privilege"),
        exactly("sethostname", 1, HOST_NAME_BYTES)
            .because("in them, a host name that says nothing"),
        exactly("mount", 3, private.bits()).because("what is mounted there stays there"),
        exactly("mount", 3, harmless.bits()).because("an empty root, in memory"),
        exactly("mount", 3, read_only.bits() | REMOUNT).because("the empty root is read-only"),
        exactly("open_tree", 2, copy.bits())
            .because("a view of the folders that a program may see, such as its interpreter's"),
        exactly("mount_setattr", 2, below).because("the view is read-only"),
        exactly("move_mount", 4, place.bits()).because("the view appears in the empty root"),
        exactly("fsopen", 1, FsOpenFlags::FSOPEN_CLOEXEC.bits())
            .because("a scratch folder in memory, for a program that names it"),
        exactly("fsconfig", 1, SET_STRING).because("how large the scratch folder is"),
        exactly("fsconfig", 1, CREATE).because("the scratch folder is made"),
        Rule::allow(
            ["fsmount"],
            [
                Condition::new(1, Operator::Equal, FsMountFlags::FSMOUNT_CLOEXEC.bits().into()),
                Condition::new(2, Operator::Equal, no_programs.bits().into()),
            ],
        )
        .because("the scratch folder can be used, and nothing in it executed"),
    ]
}

fn exactly(call: &str, argument: u8, value: u32) -> Rule {
    Rule::allow([call], [Condition::new(argument, Operator::Equal, value.into())])
}
