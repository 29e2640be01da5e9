//! The limits of one program, applied when it arrives.

use crate::inmate::{Prison, User, users};

#[test]
fn threads_are_limited() {
    // Nobody counts those of root.
    let Some(User::Nobody) = users().pop() else { return };
    let started: u32 = Prison::new().run(User::Nobody, &["threads"]).trim().parse().unwrap();
    assert!((1_000..4_096).contains(&started), "{started}");
}

#[test]
fn memory_ends_at_the_limit() {
    let prison = Prison::new();
    for user in users() {
        assert_eq!(prison.run(user, &["memory"]), "32 MiB: true\n1 GiB: false\n", "as {user:?}");
    }
}

#[test]
fn computing_ends_at_the_limit() {
    let prison = Prison::new();
    for user in users() {
        // SIGXCPU.
        assert_eq!(prison.run(user, &["cpu"]), "signal 24\n", "as {user:?}");
    }
}
