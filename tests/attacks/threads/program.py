import sys, threading, time

# A thread that begins to run when there is no memory left for it ends the process, which is as good
# as an exception in the thread that started it.

# %% as many as there can be
started = 0
def wait():
    time.sleep(1000)
try:
    while True:
        threading.Thread(target=wait, daemon=True).start()
        started += 1
except BaseException as error:
    print(type(error).__name__, started < 5000)

# %% a bomb
def burst():
    while True:
        try:
            threading.Thread(target=burst).start()
        except RuntimeError:
            pass
burst()

# %% that live on
for _ in range(10):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("done")

# %% that print after the end
def late():
    while True:
        print("late", file=sys.stderr)
for _ in range(10):
    threading.Thread(target=late, daemon=True).start()
raise SystemExit(0)

# %% timers
for _ in range(1000):
    threading.Timer(1000, print).start()
