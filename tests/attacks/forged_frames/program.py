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

def ask(number, question):
    return frame("q", struct.pack("<Q", number) + question)

def node(number, node, arguments=b"{}"):
    return frame("p", struct.pack("<QI", number, node) + arguments)

def wait():
    threading.Event().wait()

# %% a length of 4 GB
send(b"\xff\xff\xff\xff" + b"x" * 1000)
wait()

# %% a length one over the cap
send(struct.pack("<IB", 64 * 1024 * 1024 + 1, ord("o")))
wait()

# %% an empty frame
send(struct.pack("<I", 0))
wait()

# %% garbage
send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
wait()

# %% random bytes
import random
send(b"\x10\0\0\0" + random.Random(7).randbytes(4096))
wait()

# %% an unknown kind
send(frame("?"))
wait()

# %% a kind of the gateway's
send(frame("P", b"\0" * 8 + b"print('mine')"))
wait()

# %% a second ready
send(frame("r"))
wait()

# %% a call without JSON
send(call(1, arguments=b"{"))
wait()

# %% a call with two documents
send(call(1, arguments=b"{}{}"))
wait()

# %% a call with arguments that are no object
send(call(1, arguments=b" [1, 2]"))
wait()

# %% a call with a line break in its arguments
send(call(1, arguments=b'{"a":1,\n"b":2}\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}'))
wait()

# %% a call with a line break that is JSON
send(call(1, arguments=b'{"a":1,\n\n"b":2}'))
import _onecall
print(_onecall.wait(None))

# %% the same id twice
send(call(1, b"mcp__fixture__hang", b"{}") + call(1, b"mcp__fixture__hang", b"{}"))
wait()

# %% an id again after its cancel
send((call(1, b"mcp__fixture__hang", b"{}") + frame("x", struct.pack("<Q", 1))) * 100)
send(call(1))
import _onecall
print(_onecall.wait(None))

# %% a call that is cut off
send(frame("c", b"1234"))
wait()

# %% a name longer than its frame
send(frame("c", struct.pack("<QH", 1, 65535) + b"abc"))
wait()

# %% a name that is not text
send(call(1, b"\xff\xfe"))
wait()

# %% arguments that are not text
send(call(1, arguments=b'{"a":"\xff"}'))
wait()

# %% a name of 65535 bytes
send(call(1, b"x" * 65535))
wait()

# %% a cancel of nothing
send(frame("x", struct.pack("<Q", 12345)) * 1000)
print("still here")

# %% a traceback that is not text
send(frame("t", bytes(8) + b"\xff\xff"))
wait()

# %% a hundred thousand names to resolve
for _ in range(1000):
    send(frame("n", b"mcp__fixture__ad") * 100)
wait()

# %% a question that is not JSON
send(ask(1, b"{"))
wait()

# %% a question that nobody answers
send(ask(1, b'{"open":{"name":"/etc/passwd"}}'))
wait()

# %% a question with something more
send(ask(1, b'{"find":{"name":"add","more":1}}'))
wait()

# %% two questions in one
send(ask(1, b'{"list":{},"find":{"name":"add"}}'))
wait()

# %% a question with the wrong kind of value
send(ask(1, b'{"search":{"query":"add","limit":-1,"language":"python"}}'))
wait()

# %% a question that is cut off
send(frame("q", b"1234"))
wait()

# %% a question that is not text
send(ask(1, b'{"find":{"name":"\xff"}}'))
wait()

# %% a schema of a name that no tool has
send(ask(1, b'{"schema":{"name":"' + b"x" * 5000 + b'"}}'))
wait()

# %% a question nested deeply
send(ask(1, b'{"find":{"name":' * 100_000))
wait()

# %% a question with the id of a call
send(call(1, b"mcp__fixture__hang", b"{}") + ask(1, b'{"list":{}}'))
wait()

# %% questions that are cancelled
send((ask(1, b'{"list":{}}') + frame("x", struct.pack("<Q", 1))) * 1000)
print("still here")

# %% an attribute of a megabyte
import _onecall
send(ask(1, b'{"find":{"name":"' + b"x" * 1_000_000 + b'"}}'))
answer, = _onecall.wait(None)
print(answer[1], len(answer[2]["problem"]))

# %% a hundred thousand questions whose answers are not read
for start in range(0, 100_000, 100):
    send(b"".join(ask(number, b'{"node_schema":{"node":0}}') for number in range(start, start + 100)))
wait()

# %% a node where there is no plan
import _onecall
for number in 0, 2**32 - 1:
    send(node(1, number))
    print(*_onecall.wait(None))

# %% a node whose arguments are no object
send(node(1, 0, b"[]"))
wait()

# %% a node whose arguments are not JSON
send(node(1, 0, b"{"))
wait()

# %% a node that is cut off
send(frame("p", b"12345678123"))
wait()

# %% half a frame and silence
send(struct.pack("<IB", 64 * 1024 * 1024, ord("o")) + b"x" * 1000)
wait()

# %% a frame byte by byte
for byte in frame("o", b"slowly\n"):
    send(bytes([byte]))
print("done")

# %% tiny frames without end
tiny = frame("o", b"x") * 10_000
while True:
    send(tiny)

# %% frames of nothing without end
nothing = frame("o") * 10_000
while True:
    send(nothing)

# %% a finish, and then more
send(frame("d") + frame("o", b"too late") + call(9) * 2 + b"\xff" * 100)
wait()

# %% closed
os.close(wire)
wait()

# %% closed, and the program goes on
os.close(wire)
while True:
    pass

# %% shut down for writing
import socket
mine = socket.socket(fileno=wire)
mine.shutdown(socket.SHUT_WR)
wait()

# %% shut down for reading
import socket
mine = socket.socket(fileno=wire)
mine.shutdown(socket.SHUT_RD)
try:
    print(await mcp__fixture__add(1, 2))
except BaseException as error:
    print(type(error).__name__)

# %% made to block
import fcntl
fcntl.fcntl(wire, fcntl.F_SETFL, 0)
print(await mcp__fixture__add(1, 2))

# %% made not to block
import fcntl
fcntl.fcntl(wire, fcntl.F_SETFL, os.O_NONBLOCK)
print(await mcp__fixture__add(1, 2))

# %% answers stolen
send(call(1, b"mcp__fixture__echo", b'{"value":"mine"}'))
print(os.read(wire, 100))
print(await mcp__fixture__add(1, 2))

# %% another descriptor in its place
os.dup2(os.pipe()[0], wire)
print("to nobody")
wait()

# %% a descriptor sent along
import array, socket
mine = socket.socket(fileno=wire)
read, write = os.pipe()
for _ in range(2):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [write] * 20).tobytes())]
    mine.sendmsg([frame("o", b"take this\n")], rights)
mine.detach()

# %% urgent bytes
import socket
mine = socket.socket(fileno=wire)
for flag in socket.MSG_OOB, socket.MSG_OOB | socket.MSG_DONTWAIT:
    for attack in lambda: mine.send(b"x", flag), lambda: mine.sendmsg([b"x"], [], flag), lambda: mine.recv(1, flag):
        try:
            print(attack())
        except OSError as error:
            print(type(error).__name__)
mine.detach()
