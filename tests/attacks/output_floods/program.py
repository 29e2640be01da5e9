# %% without end
while True:
    print("x" * 10_000)

# %% in small pieces
while True:
    print("x", end="", flush=True)

# %% to stderr
import sys
while True:
    print("x" * 10_000, file=sys.stderr)

# %% to both
import sys
while True:
    print("o" * 100)
    print("e" * 100, file=sys.stderr)
