{{attempt}}
import os, subprocess, sys, time

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(30)
        os._exit(0)

def by_multiprocessing(method):
    import multiprocessing
    context = multiprocessing.get_context(method)
    process = context.Process(target=os.getpid)
    process.start()
    return process.pid

def by_pool():
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as pool:
        return pool.submit(os.getpid).result(5)

def by_asyncio():
    import asyncio
    return asyncio.run(asyncio.create_subprocess_exec("/bin/sleep", "30"))

def by_interpreter():
    try:
        import _interpreters
        failure = _interpreters.run_string(_interpreters.create(), "import os; os.fork()")
        return failure is not None and "refused"
    except (ImportError, RuntimeError):
        return "refused"

sleep = ["/bin/sleep", "30"]
attempt("fork", os.fork)
attempt("forkpty", os.forkpty)
attempt("a daemon", daemon)
attempt("run", lambda: subprocess.run(sleep))
attempt("run in a shell", lambda: subprocess.run("sleep 30 &", shell=True))
attempt("Popen in a session of its own", lambda: subprocess.Popen(sleep, start_new_session=True))
attempt("Popen by vfork", lambda: subprocess.Popen(sleep, close_fds=False))
attempt("posix_spawn", lambda: os.posix_spawn(sleep[0], sleep, {}))
attempt("posix_spawnp", lambda: os.posix_spawnp("sleep", sleep, {}))
attempt("spawn", lambda: os.spawnv(os.P_NOWAIT, sleep[0], sleep))
attempt("popen", lambda: os.popen("id").read())
attempt("exec", lambda: os.execv(sleep[0], sleep))
attempt("exec by descriptor", lambda: os.execve(3, sleep, {}))
attempt("exec of this interpreter", lambda: os.execv(sys.executable or "/proc/self/exe", ["python"]))
attempt("multiprocessing by fork", lambda: by_multiprocessing("fork"))
attempt("multiprocessing by spawn", lambda: by_multiprocessing("spawn"))
attempt("multiprocessing by forkserver", lambda: by_multiprocessing("forkserver"))
attempt("a pool of processes", by_pool)
attempt("asyncio's subprocesses", by_asyncio)
print("another interpreter:", by_interpreter())
attempt("a pseudo terminal", lambda: __import__("pty").spawn(sleep))
print("a browser:", __import__("webbrowser").open("http://127.0.0.1:{{tcp_port}}/"))
attempt("a shell", lambda: os.system("touch {{probe}}/system"))
