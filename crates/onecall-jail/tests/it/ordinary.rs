//! A jailed process can do what an interpreter does.

use crate::inmate::{InmateFixture, users};

#[test]
fn an_ordinary_program_notices_nothing() {
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(
            fixture.run(user, &["ordinary"]),
            "\
memory: 33554432
condition: 7
unwound: true
random: 1
user: 65534 in /
process: true
socket: ping pong
",
            "as {user:?}"
        );
    }
}

#[test]
fn a_worker_does_not_outlive_its_zygote() {
    let fixture = InmateFixture::new();
    for user in users() {
        // The worker holds stdout and waits for nothing: only its death ends this.
        assert_eq!(fixture.run(user, &["orphan"]), "", "as {user:?}");
    }
}
