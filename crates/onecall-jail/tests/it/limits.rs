//! The limits of one program, applied when it arrives.

use crate::inmate::{InmateFixture, User, users};

#[test]
fn threads_are_limited() {
    // The kernel does not count the threads of root.
    let Some(User::Nobody) = users().pop() else { return };
    let started: u32 = InmateFixture::new().run(User::Nobody, &["threads"]).trim().parse().unwrap();
    assert!((1_000..4_096).contains(&started), "{started}");
}

#[test]
fn memory_ends_at_the_limit() {
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(fixture.run(user, &["memory"]), "32 MiB: true\n1 GiB: false\n", "as {user:?}");
    }
}

#[test]
fn computing_ends_at_the_limit() {
    let fixture = InmateFixture::new();
    for user in users() {
        // SIGXCPU.
        assert_eq!(fixture.run(user, &["cpu"]), "signal 24\n", "as {user:?}");
    }
}
