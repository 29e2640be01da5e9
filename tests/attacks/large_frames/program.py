import os, stat, struct, threading

def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

wire, *_ = [fd for fd in range(3, 64) if is_socket(fd)]

def send(data):
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(wire, rest):]

def frame(kind, payload=b""):
    return struct.pack("<IB", len(payload) + 1, ord(kind)) + payload

def call(number, name=b"mcp__fixture__add", arguments=b'{"a":1,"b":2}'):
    return frame("c", struct.pack("<QH", number, len(name)) + name + arguments)

def wait():
    threading.Event().wait()

# %% a traceback of 15 MB
send(frame("t", bytes(8) + b"x" * 15_000_000))
wait()

# %% a name to resolve of 15 MB
send(frame("n", b"mcp__fixture__" + b"add" * 5_000_000))
wait()

# %% most of a large frame and silence
send(struct.pack("<IB", 64 * 1024 * 1024, ord("o")) + b"x" * (63 * 1024 * 1024))
wait()

# %% answers never read
send(b"".join(call(number, b"mcp__fixture__big", b'{"bytes":100000}') for number in range(1000)))
wait()

# %% a failure of 7 MB
error = ValueError("short")
for _ in range(10_000):
    error.add_note("a note " * 100)
raise error
