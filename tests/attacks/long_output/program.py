# %% a line of 100 MB
print("x" * 100_000_000)

# %% a gigabyte in one line
part = "x" * 1_000_000
for _ in range(1000):
    print(part, end="")
print()

# %% as bytes
import sys
for _ in range(1000):
    sys.stdout.buffer.write(bytes(range(256)) * 1000)

# %% as half a character
import sys
sys.stdout.buffer.write(b"a" * 99 + "é".encode())

# %% as surrogates
print("\ud800" * 10)

# %% as null bytes
print("\0" * 10)

# %% from fifty threads
import threading
def shout():
    for _ in range(1000):
        print("y" * 100)
threads = [threading.Thread(target=shout) for _ in range(50)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# %% without a line break
for _ in range(1_000_000):
    print("z", end="")

# %% in tracebacks
class Error(Exception):
    def __str__(self):
        return "long " * 1_000_000
raise Error

# %% in a name
exec("x" * 100_000)

# %% in an exit
raise SystemExit("x" * 1_000_000)

# %% in forgotten calls
calls = [mcp__fixture__add(n, n) for n in range(10_000)]

# %% in logs
import logging
logging.basicConfig(level=logging.DEBUG)
for n in range(2000):
    logging.error("x" * 1000)
print("done")

# %% to the real descriptors
import os
for fd in 0, 1, 2:
    print(os.write(fd, b"x" * 1_000_000))

# %% before an end by signal
import os
print("last words", flush=True)
os.kill(os.getpid(), 9)
