{{attempt}}
import asyncio, http.client, os, socket, urllib.request

TCP, TCP6, UDP = {{tcp_port}}, {{tcp6_port}}, {{udp_port}}

def connect(family, kind, address, protocol=0):
    with socket.socket(family, kind, protocol) as mine:
        mine.settimeout(1)
        mine.connect(address)
        return mine.getpeername()

def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
        return mine.sendto(b"secret", address)

def to_anyone():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"secret", "\0{{mark}}")

def worker_sockets():
    import stat
    def is_socket(fd):
        try:
            return stat.S_ISSOCK(os.fstat(fd).st_mode)
        except OSError:
            return False
    found = [fd for fd in range(3, 64) if is_socket(fd)]
    return [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=os.dup(fd)) for fd in found]

def by_worker_socket(address):
    for mine in worker_sockets():
        try:
            return mine.sendto(b"", address)
        except OSError as error:
            last = error
    raise last

def connected_again():
    return [mine.connect("\0{{mark}}") for mine in worker_sockets()]

STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
attempt("TCP", lambda: connect(socket.AF_INET, STREAM, ("127.0.0.1", TCP)))
attempt("TCP by another name", lambda: socket.create_connection(("localhost", TCP), 1))
attempt("TCP to any address", lambda: connect(socket.AF_INET, STREAM, ("0.0.0.0", TCP)))
attempt("TCP over IPv6", lambda: connect(socket.AF_INET6, STREAM, ("::1", TCP6)))
attempt("TCP to an IPv4 address in IPv6", lambda: connect(socket.AF_INET6, STREAM, ("::ffff:127.0.0.1", TCP)))
attempt("the metadata address", lambda: connect(socket.AF_INET, STREAM, ("169.254.169.254", 80)))
attempt("the outside", lambda: connect(socket.AF_INET, STREAM, ("192.0.2.1", 443)))
attempt("UDP", lambda: send(("127.0.0.1", UDP)))
attempt("UDP to all", lambda: send(("255.255.255.255", UDP)))
attempt("a server", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("a server on IPv6", lambda: socket.create_server(("::1", 0), family=socket.AF_INET6))
attempt("an abstract socket", lambda: connect(socket.AF_UNIX, STREAM, "\0{{mark}}"))
attempt("a named socket", lambda: connect(socket.AF_UNIX, STREAM, "{{unix_socket}}"))
attempt("docker", lambda: connect(socket.AF_UNIX, STREAM, "/var/run/docker.sock"))
attempt("the session bus", lambda: connect(socket.AF_UNIX, STREAM, "/run/user/0/bus"))
attempt("a pair of datagrams to anyone", to_anyone)
attempt("a pair", socket.socketpair)
attempt("the worker's socket to anyone", lambda: by_worker_socket("\0{{mark}}"))
attempt("the worker's socket, connected again", connected_again)
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("ping", lambda: socket.socket(socket.AF_INET, DATAGRAM, 1))
attempt("packets", lambda: socket.socket(17, socket.SOCK_RAW, 3))
attempt("netlink", lambda: socket.socket(16, socket.SOCK_RAW, 0))
attempt("vsock", lambda: socket.socket(40, STREAM))
attempt("bluetooth", lambda: socket.socket(31, STREAM, 3))
attempt("the kernel's ciphers", lambda: socket.socket(38, 5, 0))
attempt("CAN", lambda: socket.socket(29, socket.SOCK_RAW, 1))
attempt("TIPC", lambda: socket.socket(30, STREAM))
attempt("express data path", lambda: socket.socket(44, socket.SOCK_RAW))
attempt("resolve", lambda: socket.getaddrinfo("localhost", 80))
attempt("resolve outside", lambda: socket.gethostbyname("example.com"))
attempt("resolve backwards", lambda: socket.gethostbyaddr("127.0.0.1"))
attempt("interfaces", lambda: socket.if_nameindex())
attempt("urllib", lambda: urllib.request.urlopen("http://127.0.0.1:%d/" % TCP, timeout=1))
attempt("http.client", lambda: http.client.HTTPConnection("127.0.0.1", TCP, timeout=1).request("GET", "/"))
attempt("ftp", lambda: __import__("ftplib").FTP("127.0.0.1", timeout=1))
attempt("mail", lambda: __import__("smtplib").SMTP("127.0.0.1", TCP, timeout=1))

def by_libc(name, *arguments):
    import ctypes
    if getattr(ctypes.CDLL(None), name)(*arguments) < 0:
        raise OSError

attempt("by ctypes", lambda: by_libc("socket", 2, 1, 0))
attempt("a pair by ctypes", lambda: by_libc("socketpair", 1, 2, 0, bytes(8)))

async def outcome(what, attack):
    try:
        print(what, "-> GAINED", await attack)
    except BaseException as error:
        print(what, "->", type(error).__name__)

await outcome("asyncio's connection", asyncio.open_connection("127.0.0.1", TCP))
await outcome("asyncio's unix connection", asyncio.open_unix_connection("{{unix_socket}}"))
await outcome("asyncio's server", asyncio.start_server(print, "127.0.0.1", 0))
print("the machine's name:", socket.gethostname(), os.uname().nodename)
