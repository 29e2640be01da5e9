//! The kernel's table of system calls.

/// Names and numbers, one call per line.
const TABLE: &str = include_str!("../../data/system-calls.txt");

/// One system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// The name of the call in the kernel's table and in seccomp profiles.
    pub name: &'static str,
    /// The number of the call on the processor of this build; `None` if that has no such call.
    pub number: Option<i64>,
}

/// Every system call of the processors that onecall runs on.
///
/// # Panics
/// If the table is not as its first line says.
#[must_use]
pub fn system_calls() -> Vec<SystemCall> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(parse).collect()
}

fn parse(line: &'static str) -> SystemCall {
    let columns: Vec<&str> = line.split(' ').collect();
    let [name, x86_64, aarch64] = columns[..] else { panic!("in the table of calls: {line}") };
    let number = if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 };
    SystemCall { name, number: number.parse().ok() }
}

#[test]
fn the_table_has_the_numbers_of_this_processor() {
    let number =
        |name| system_calls().iter().find(|call| call.name == name).and_then(|call| call.number);
    let known = [
        ("read", libc::SYS_read),
        ("newfstatat", libc::SYS_newfstatat),
        ("unshare", libc::SYS_unshare),
        ("clone3", libc::SYS_clone3),
        ("landlock_restrict_self", libc::SYS_landlock_restrict_self),
    ];
    assert_eq!(known.map(|(name, _)| number(name)), known.map(|(_, number)| Some(number)));
}
