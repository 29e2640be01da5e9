//! What the zygote has open is closed in its workers.

use crate::inmate::{InmateFixture, text};

#[test]
fn an_inherited_descriptor_is_closed() {
    let fixture = InmateFixture::new();
    // The shell leaves a descriptor open for the inmate.
    let inherit = |mode: &str| {
        let script = format!("exec env -i {} {mode} canaries 7</dev/null", fixture.inmate());
        let output = std::process::Command::new("sh").args(["-c", &script]).output();
        let printed = text(&output.unwrap());
        printed.lines().find(|line| line.contains("a descriptor")).map(str::to_owned)
    };
    let held = "inheritance: find a descriptor of the gateway's: EACCES";
    let broken = "inheritance: find a descriptor of the gateway's: BROKEN: it succeeded";
    assert_eq!(inherit("best-effort").as_deref(), Some(held));
    assert_eq!(inherit("off").as_deref(), Some(broken));
}
