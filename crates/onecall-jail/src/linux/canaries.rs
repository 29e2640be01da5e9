//! The escape attempts for Linux.
#![expect(unsafe_code, reason = "breaking out takes calls that no safe function makes")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::{fs, io, net};

use rustix::io::Errno;

use super::namespaces::HOST_NAME;
use crate::{Canary, Property};

/// The attempts that a worker survives. The worker was prepared with `keep`.
pub(crate) fn all<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
    let canary = |property, attempt, run: fn() -> io::Result<()>| Canary {
        property,
        attempt,
        run: Box::new(run),
    };
    vec![
        canary(Property::Files, "read /etc/passwd", || hidden_is_refused(fs::read("/etc/passwd"))),
        canary(Property::Files, "read /proc/1/environ", || {
            hidden_is_refused(fs::read("/proc/1/environ"))
        }),
        canary(Property::Files, "list the root", || fs::read_dir("/").map(drop)),
        canary(Property::Files, "create a file", || {
            let path = format!("/onecall-canary-{}", std::process::id());
            fs::write(&path, "")?;
            fs::remove_file(path)
        }),
        canary(Property::Metadata, "see /etc/passwd", || {
            hidden_is_refused(fs::metadata("/etc/passwd"))
        }),
        canary(Property::Metadata, "see /etc by a call for descriptors", || {
            use rustix::fs::{AtFlags, CWD, statat};
            hidden_is_refused(statat(CWD, "/etc", AtFlags::EMPTY_PATH).map_err(Into::into))
        }),
        canary(Property::Metadata, "follow /proc/self/exe", || {
            hidden_is_refused(fs::read_link("/proc/self/exe"))
        }),
        canary(Property::Network, "open a TCP socket", || {
            net::TcpListener::bind((net::Ipv4Addr::LOCALHOST, 0)).map(drop)
        }),
        canary(Property::Network, "open a UDP socket", || {
            net::UdpSocket::bind((net::Ipv6Addr::LOCALHOST, 0)).map(drop)
        }),
        canary(Property::Network, "reach an abstract socket", || {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name("onecall-canary")?).map(drop)
        }),
        canary(Property::Processes, "fork", fork),
        canary(Property::Processes, "signal process 1", || call(libc::SYS_kill, [1, 0, 0])),
        canary(Property::Processes, "ask for the processors of process 1", || {
            use rustix::thread::sched_getaffinity;
            Ok(sched_getaffinity(rustix::process::Pid::from_raw(1)).map(drop)?)
        }),
        canary(Property::Processes, "read the clock of process 1", || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // The kernel's encoding for the clock of another process's processor time.
            let clock = (!1 << 3) | 2;
            // SAFETY: the call fills `time`, which outlives it.
            let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
            refused_if(read != 0)
        }),
        Canary {
            property: Property::Processes,
            attempt: "learn who started it",
            run: Box::new(|| refused_if(!keep.iter().any(|socket| names_its_peer(*socket)))),
        },
        canary(Property::Names, "see the number of the parent process", || {
            refused_if(call_for_number(libc::SYS_getppid, [0; 3]).is_ok_and(|parent| parent == 0))
        }),
        canary(Property::Names, "see the machine's name", || refused_if(has_no_name())),
        // The path is null, so behind the wall the call would fail without replacing the process.
        canary(Property::Privileges, "execute a program", || call(libc::SYS_execve, [0; 3])),
        canary(Property::Privileges, "become root", || call(libc::SYS_setuid, [0; 3])),
        canary(Property::Privileges, "make memory executable", executable_memory),
        Canary {
            property: Property::Inheritance,
            attempt: "find a descriptor of the gateway's",
            run: Box::new(|| refused_if(!has_more_than(keep))),
        },
        canary(Property::Inheritance, "see a variable", || {
            refused_if(std::env::vars_os().count() == 0)
        }),
        canary(Property::Limits, "raise a limit", raise_a_limit),
        canary(Property::Limits, "start a thread that is one too many", || {
            refused_if(!starts_a_thread_too_many())
        }),
    ]
}

/// Makes the attempt that a worker does not survive: if the wall holds, the kernel kills the
/// process with SIGSYS, and this function does not return.
pub(crate) fn deadly() {
    // If it succeeds, it only allows the parent to trace this process.
    let _ = call(libc::SYS_ptrace, [0; 3]);
}

/// Reports a rejection for walls that hide something and return no error.
fn refused_if(refused: bool) -> io::Result<()> {
    if refused { Err(Errno::ACCESS.into()) } else { Ok(()) }
}

/// Treats a file that is not visible like one that cannot be read.
fn hidden_is_refused<T>(found: io::Result<T>) -> io::Result<()> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Errno::ACCESS.into()),
        other => other.map(drop),
    }
}

/// Whether a descriptor is open that is neither a standard stream nor in `keep`.
fn has_more_than(keep: &[BorrowedFd<'_>]) -> bool {
    let kept = |descriptor| keep.iter().any(|kept| kept.as_raw_fd() == descriptor);
    (3..1024).filter(|descriptor| !kept(*descriptor)).any(|descriptor| {
        call(libc::SYS_fcntl, [descriptor, libc::F_GETFD, 0].map(Into::into)).is_ok()
    })
}

fn call(number: libc::c_long, arguments: [libc::c_long; 3]) -> io::Result<()> {
    call_for_number(number, arguments).map(drop)
}

fn call_for_number(
    number: libc::c_long,
    [first, second, third]: [libc::c_long; 3],
) -> io::Result<libc::c_long> {
    // SAFETY: the arguments used above are numbers or null, never addresses.
    match unsafe { libc::syscall(number, first, second, third) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// Whether the kernel reports the process at the other end of a socket.
fn names_its_peer(socket: BorrowedFd<'_>) -> bool {
    rustix::net::sockopt::socket_peercred(socket).is_ok()
}

/// Whether the kernel reports no machine name, or only the name that the sandbox sets.
fn has_no_name() -> bool {
    // SAFETY: all zeros is a valid `utsname`, which the call fills in.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `names` outlives the call.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return true;
    }
    let name = names.nodename.map(i8::cast_unsigned);
    name.split(|byte| *byte == 0).next() == Some(HOST_NAME.as_bytes())
}

/// Whether the kernel starts a thread although the limit is zero.
fn starts_a_thread_too_many() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let none = Rlimit { current: Some(0), ..getrlimit(Resource::Nproc) };
    setrlimit(Resource::Nproc, none).is_err()
        || std::thread::Builder::new().stack_size(64 << 10).spawn(|| ()).is_ok()
}

fn fork() -> io::Result<()> {
    // SAFETY: the child does nothing but end.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: as above; no exit handler runs.
        0 => unsafe { libc::_exit(0) },
        _ => Ok(()),
    }
}

fn raise_a_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(1), maximum: Some(1) })?)
}

fn executable_memory() -> io::Result<()> {
    let (protection, kind) =
        (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at a place of the kernel's choice overlaps nothing.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, kind, -1, 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}
