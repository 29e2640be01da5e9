//! Attempts to break out, to be made in a locked-in process that nobody needs.
//!
//! Each is harmless where it succeeds, and then it says which wall is down.
#![expect(unsafe_code, reason = "breaking out takes calls that no safe function makes")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::{fs, io, net};

use rustix::io::Errno;

use crate::namespaces::HOST_NAME;

/// One attempt to break out.
pub struct Canary<'a> {
    /// The wall it runs against, by the name it has in a [`Report`](crate::Report).
    pub wall: &'static str,
    /// What it tries.
    pub attempt: &'static str,
    run: Box<dyn Fn() -> io::Result<()> + 'a>,
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was refused, with this error.
    Held(Errno),
    /// It was not, or not by the wall.
    Broken(String),
}

impl Canary<'_> {
    /// Tries to break out. An error other than a refusal means that the attempt got
    /// past the wall and failed behind it.
    #[must_use]
    pub fn sing(&self) -> Verdict {
        match (self.run)() {
            Ok(()) => Verdict::Broken("it succeeded".to_owned()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(errno @ (Errno::PERM | Errno::ACCESS | Errno::ROFS)) => Verdict::Held(errno),
                _ => Verdict::Broken(format!("it was not refused: {error}")),
            },
        }
    }
}

/// The attempts that a worker survives. It was prepared with `keep`.
#[must_use]
pub fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
    let canary =
        |wall, attempt, run: fn() -> io::Result<()>| Canary { wall, attempt, run: Box::new(run) };
    vec![
        Canary {
            wall: "descriptors",
            attempt: "find one of the gateway's",
            run: Box::new(|| refused_if(!has_more_than(keep))),
        },
        canary("environment", "see a variable", || refused_if(std::env::vars_os().count() == 0)),
        canary("namespaces", "see the parent process", || {
            refused_if(rustix::process::getppid().is_none())
        }),
        canary("namespaces", "see the machine's name", || {
            refused_if(rustix::system::uname().nodename().to_bytes() == HOST_NAME.as_bytes())
        }),
        canary("empty root", "see /etc", || {
            // A call that the filter lets pass: with this flag it is meant for descriptors.
            let stat = rustix::fs::statat(rustix::fs::CWD, "/etc", rustix::fs::AtFlags::EMPTY_PATH);
            refused_if(stat.is_err_and(|error| error == Errno::NOENT))
        }),
        canary("empty root", "read /proc/1/environ", || hidden(fs::read("/proc/1/environ"))),
        canary("filesystem", "read /etc/passwd", || hidden(fs::read("/etc/passwd"))),
        canary("filesystem", "list the root", || fs::read_dir("/").map(drop)),
        canary("filesystem", "create a file", || {
            let path = format!("/onecall-canary-{}", std::process::id());
            fs::write(&path, "")?;
            fs::remove_file(path)
        }),
        canary("system calls", "open a TCP socket", || {
            net::TcpListener::bind((net::Ipv4Addr::LOCALHOST, 0)).map(drop)
        }),
        canary("system calls", "open a UDP socket", || {
            net::UdpSocket::bind((net::Ipv6Addr::LOCALHOST, 0)).map(drop)
        }),
        canary("system calls", "reach an abstract socket", || {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name("onecall-canary")?).map(drop)
        }),
        canary("system calls", "fork", fork),
        // No path: it would fail behind the wall without replacing the process.
        canary("system calls", "execute a program", || call(libc::SYS_execve, [0; 3])),
        canary("system calls", "signal process 1", || call(libc::SYS_kill, [1, 0, 0])),
        canary("privileges", "become root", || call(libc::SYS_setuid, [0; 3])),
        canary("resources", "raise a limit", raise_a_limit),
        canary("system calls", "make memory executable", executable_memory),
    ]
}

/// The attempt that a worker does not survive: where the wall holds, the kernel ends
/// the process by SIGSYS, and this does not return.
pub fn deadly_canary() {
    // Where it succeeds the parent merely becomes able to trace this process.
    let _ = call(libc::SYS_ptrace, [0; 3]);
}

/// For walls that show in what there is to see, not in an error.
fn refused_if(refused: bool) -> io::Result<()> {
    if refused { Err(Errno::ACCESS.into()) } else { Ok(()) }
}

/// A file that cannot be seen is refused as well as one that cannot be read.
fn hidden(read: io::Result<Vec<u8>>) -> io::Result<()> {
    match read {
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

fn call(number: libc::c_long, [first, second, third]: [libc::c_long; 3]) -> io::Result<()> {
    // SAFETY: the arguments used above are numbers or null, never addresses.
    match unsafe { libc::syscall(number, first, second, third) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
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
