{{attempt}}
import os, signal

# Harmless ones: to be allowed to send them would be enough.
SIGNALS = [0, 18, 28]

def everything(pid):
    sent, last = [], None
    for number in SIGNALS:
        try:
            os.kill(pid, number)
            sent.append(number)
        except OSError as error:
            last = error
    if not sent:
        raise last
    return sent

attempt("the gateway", lambda: everything({{gateway_pid}}))
attempt("the zygote", lambda: everything({{zygote_pid}}))
attempt("the parent", lambda: everything(os.getppid()))
attempt("the first process", lambda: everything(1))
attempt("everyone", lambda: everything(-1))
attempt("the group", lambda: everything(0))
attempt("the group by number", lambda: os.killpg(os.getpgid(0), 0))
attempt("the gateway's group", lambda: os.killpg({{gateway_pid}}, 0))
others = [pid for pid in range(1, 300) if pid != os.getpid()]

def reaches(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False

print("neighbours:", [pid for pid in others if reaches(pid)])
attempt("the first process by a number past 32 bits", lambda: os.kill(2**32 + 1, 0))
print("itself, for nothing:", os.kill(os.getpid(), 0))
