import os, signal

# %% 1
os.kill(os.getpid(), 1)

# %% 2
os.kill(os.getpid(), 2)

# %% 3
os.kill(os.getpid(), 3)

# %% 4
os.kill(os.getpid(), 4)

# %% 5
os.kill(os.getpid(), 5)

# %% 6
os.kill(os.getpid(), 6)

# %% 7
os.kill(os.getpid(), 7)

# %% 8
os.kill(os.getpid(), 8)

# %% 9
os.kill(os.getpid(), 9)

# %% 10
os.kill(os.getpid(), 10)

# %% 11
os.kill(os.getpid(), 11)

# %% 12
os.kill(os.getpid(), 12)

# %% 13
os.kill(os.getpid(), 13)

# %% 14
os.kill(os.getpid(), 14)

# %% 15
os.kill(os.getpid(), 15)

# %% 16
os.kill(os.getpid(), 16)

# %% 17
os.kill(os.getpid(), 17)

# %% 18
os.kill(os.getpid(), 18)

# %% 19
os.kill(os.getpid(), 19)

# %% 20
os.kill(os.getpid(), 20)

# %% 21
os.kill(os.getpid(), 21)

# %% 22
os.kill(os.getpid(), 22)

# %% 23
os.kill(os.getpid(), 23)

# %% 24
os.kill(os.getpid(), 24)

# %% 25
os.kill(os.getpid(), 25)

# %% 26
os.kill(os.getpid(), 26)

# %% 27
os.kill(os.getpid(), 27)

# %% 28
os.kill(os.getpid(), 28)

# %% 29
os.kill(os.getpid(), 29)

# %% 30
os.kill(os.getpid(), 30)

# %% 31
os.kill(os.getpid(), 31)

# %% 34
os.kill(os.getpid(), 34)

# %% 64
os.kill(os.getpid(), 64)

# %% in a thread
import threading
threading.Thread(target=lambda: os.kill(os.getpid(), 9)).start()
while True:
    pass

# %% by an alarm
signal.alarm(1)
signal.setitimer(signal.ITIMER_REAL, 0.001)
while True:
    pass

# %% by abort
os.abort()

# %% by exit
os._exit(7)

# %% by exit, as if all were well
os._exit(0)

# %% by a fault
import ctypes
ctypes.string_at(0)

# %% by writing where nothing is
import ctypes
ctypes.memset(8, 1, 100)

# %% by a pipe that nobody reads
read, write = os.pipe()
os.close(read)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.write(write, b"x")
