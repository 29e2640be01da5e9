# %% no more than the limit
rows = []
try:
    while True:
        rows.append(bytes(1_000_000))
except MemoryError:
    held = len(rows)
    del rows
    print("a few megabytes:", held > 5, "not many more than allowed:", held < 200)

# %% a text of a terabyte
text = "x" * 10**12

# %% bytes of a terabyte
data = bytearray(10**12)

# %% a list of a trillion
rows = [0] * 10**12

# %% caught
try:
    "x" * 10**12
except MemoryError:
    print("refused")

# %% padded
"{:>1000000000000}".format(1)

# %% joined
",".join(["x" * 10**6] * 10**6)

# %% replaced
("x" * 10**6).replace("x", "y" * 10**6)

# %% text that doubles
text = "x"
while True:
    text += text

# %% a list that grows
rows = []
while True:
    rows.append("%01000d" % len(rows))

# %% a dict that grows
rows = {}
while True:
    rows[len(rows)] = str(len(rows)) * 100

# %% a range as a list
list(range(10**10))

# %% a product as a list
import itertools
list(itertools.product(range(1000), repeat=3))

# %% permutations
import itertools
list(itertools.permutations(range(12)))

# %% entities within entities
layers = ["lol"]
for _ in range(30):
    layers = [layers] * 10
print(len(str(layers)))

# %% json that grows
import json
json.dumps([["x" * 1000] * 1000] * 1000)

# %% a set of tuples
seen = set()
while True:
    seen.add((len(seen), "x" * 100))

# %% a queue that nobody empties
import asyncio
queue = asyncio.Queue()
while True:
    queue.put_nowait(bytes(10_000))

# %% closures
def nest(inner):
    return lambda: inner
outer = None
while True:
    outer = nest(outer)

# %% classes
kinds = []
while True:
    kinds.append(type("Kind", (), {"x": bytes(5000)}))

# %% generators held open
def once():
    yield
held = []
while True:
    held.append(once())
    next(held[-1])

# %% decompressed
import zlib
small = zlib.compress(bytes(50_000_000))
rows = []
while True:
    rows.append(zlib.decompress(small))

# %% mapped
import mmap
held = []
while True:
    held.append(mmap.mmap(-1, 64 * 1024 * 1024))

# %% in threads' stacks
import threading
threading.stack_size(64 * 1024 * 1024)
held = threading.Event()
while True:
    threading.Thread(target=held.wait, daemon=True).start()

# %% in a thread's result
import threading
rows = []
def fill():
    while True:
        rows.append(bytes(100_000))
thread = threading.Thread(target=fill)
thread.start()
thread.join()

# %% in pipes
import os
held = []
try:
    while True:
        read, write = os.pipe()
        os.set_blocking(write, False)
        held.append(os.write(write, bytes(1 << 20)))
except OSError as error:
    print(len(held) < 64, sum(held) < 5_000_000)

# %% in an exception's text
raise ValueError("x" * 2_000_000)

# %% in a failure that catches it
rows = []
try:
    while True:
        rows.append(bytes(100_000))
except MemoryError:
    while True:
        try:
            rows.append(bytes(100_000))
        except MemoryError:
            rows.append(None)
