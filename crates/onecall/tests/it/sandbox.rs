//! What a program cannot do. What happens where the kernel cannot keep it from it is in `containers.rs`.

use insta::assert_snapshot;

use crate::support::Gateway;

#[test]
fn a_program_reaches_nothing_but_its_tools() {
    let mut gateway = Gateway::new();
    let code = "
        import os, socket, subprocess, sys
        def is_open(fd):
            try:
                return bool(os.fstat(fd))
            except OSError:
                return False
        def attempt(what, breach):
            try:
                print(what, '->', repr(breach()))
            except Exception as error:
                print(what, '->', type(error).__name__)
        attempt('read a file', lambda: open('/etc/passwd').read())
        attempt('read a process', lambda: open('/proc/1/environ').read())
        attempt('climb', lambda: open('../../../../etc/passwd').read())
        attempt('list', lambda: os.listdir('/'))
        attempt('ask for a file', lambda: os.stat('/etc/passwd'))
        attempt('write', lambda: open('/t' + 'mp/breach', 'w'))
        attempt('write a time zone', lambda: open('/usr/share/zoneinfo/UTC', 'a'))
        attempt('make a link', lambda: os.symlink('/etc', '/usr/share/zoneinfo/etc'))
        attempt('tcp', lambda: socket.create_connection(('127.0.0.1', 80)))
        attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        attempt('ipv6', lambda: socket.socket(socket.AF_INET6))
        attempt('unix socket', lambda: socket.socket(socket.AF_UNIX))
        attempt('resolve', lambda: socket.getaddrinfo('localhost', 80))
        attempt('fork', os.fork)
        attempt('run', lambda: subprocess.run(['/bin/true']))
        attempt('exec', lambda: os.execv('/bin/true', ['true']))
        attempt('signal init', lambda: os.kill(1, 9))
        attempt('signal everyone', lambda: os.kill(-1, 9))
        attempt('become root', lambda: os.setuid(0))
        attempt('environment', lambda: dict(os.environ))
        attempt('descriptors', lambda: [fd for fd in range(3, 64) if is_open(fd)])
        attempt('executable', lambda: sys.executable)
    ";
    let seen = gateway.prints(code);
    assert_snapshot!(seen, @r"
    read a file -> FileNotFoundError
    read a process -> FileNotFoundError
    climb -> FileNotFoundError
    list -> PermissionError
    ask for a file -> FileNotFoundError
    write -> PermissionError
    write a time zone -> PermissionError
    make a link -> PermissionError
    tcp -> PermissionError
    udp -> PermissionError
    ipv6 -> PermissionError
    unix socket -> PermissionError
    resolve -> gaierror
    fork -> PermissionError
    run -> PermissionError
    exec -> PermissionError
    signal init -> PermissionError
    signal everyone -> PermissionError
    become root -> PermissionError
    environment -> {}
    descriptors -> [3, 4, 5]
    executable -> None
    ");
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
}

#[test]
fn a_program_that_kills_itself_hurts_nobody_else() {
    let mut gateway = Gateway::new();
    let memory = ": the system ended it, most likely because memory ran out";
    let filter = ": it made a system call that the sandbox forbids";
    for (signal, name, why) in [(9, "SIGKILL", memory), (15, "SIGTERM", ""), (31, "SIGSYS", filter)]
    {
        assert_eq!(
            gateway.fails(&format!("import os\nos.kill(os.getpid(), {signal})")),
            format!("the program's process was ended by {name}{why}")
        );
    }
    assert_eq!(gateway.prints("print(1)"), "1\n");
}
