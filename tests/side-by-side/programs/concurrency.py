#%% gather_calls
import asyncio
print(await asyncio.gather(*(mcp__kit__add(a=n, b=n) for n in range(5))))

#%% gather_keeps_order
import asyncio
print(await asyncio.gather(mcp__kit__slow(seconds=0.2, label="late"), mcp__kit__slow(seconds=0, label="early")))

#%% gather_with_exceptions_returned
import asyncio
results = await asyncio.gather(mcp__kit__add(a=1, b=1), mcp__kit__fail(message="no"), return_exceptions=True)
for result in results:
    print(type(result).__name__, result)

#%% gather_raises_the_first_error
import asyncio
try:
    await asyncio.gather(mcp__kit__add(a=1, b=1), mcp__kit__fail(message="no"))
except Exception as error:
    print(type(error).__name__, error)

#%% gather_unpacked
import asyncio
total, even = await asyncio.gather(mcp__kit__add(a=1, b=1), mcp__kit__is_even(number=2))
print(total, even)

#%% gather_dict_values
import asyncio
wanted = {"one": 1, "two": 2}
done = dict(zip(wanted, await asyncio.gather(*[mcp__kit__add(a=n, b=0) for n in wanted.values()])))
print(done)

#%% create_task
import asyncio
task = asyncio.create_task(mcp__kit__add(a=1, b=2))
print(await task)

#%% ensure_future
import asyncio
future = asyncio.ensure_future(mcp__kit__add(a=1, b=2))
print(await future, future.done())

#%% task_group
import asyncio
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(mcp__kit__add(a=n, b=n)) for n in range(3)]
print([task.result() for task in tasks])

#%% task_group_with_error
import asyncio
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(mcp__kit__fail(message="broken"))
except* Exception as errors:
    print([str(error) for error in errors.exceptions])

#%% as_completed
import asyncio
calls = [mcp__kit__slow(seconds=s, label=str(s)) for s in (0.3, 0.0)]
for finished in asyncio.as_completed(calls):
    print(await finished)

#%% wait_first_completed
import asyncio
tasks = [asyncio.create_task(mcp__kit__slow(seconds=s, label=f"after {s}")) for s in (0, 3)]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
print([task.result() for task in done], len(pending))
for task in pending:
    task.cancel()

#%% wait_for_in_time
import asyncio
print(await asyncio.wait_for(mcp__kit__add(a=1, b=1), timeout=10))

#%% wait_for_too_late
import asyncio
try:
    await asyncio.wait_for(mcp__kit__slow(seconds=5), timeout=0.1)
except asyncio.TimeoutError:
    print("too late")

#%% timeout_context
import asyncio
try:
    async with asyncio.timeout(0.1):
        await mcp__kit__slow(seconds=5)
except TimeoutError:
    print("too late")

#%% semaphore
import asyncio
gate = asyncio.Semaphore(2)
async def limited(n):
    async with gate:
        return await mcp__kit__add(a=n, b=1)
print(await asyncio.gather(*map(limited, range(5))))

#%% queue_and_workers
import asyncio
queue, results = asyncio.Queue(), []
for n in range(6):
    queue.put_nowait(n)
async def worker():
    while not queue.empty():
        results.append(await mcp__kit__add(a=queue.get_nowait(), b=10))
await asyncio.gather(worker(), worker())
print(sorted(results))

#%% lock
import asyncio
lock, log = asyncio.Lock(), []
async def step(n):
    async with lock:
        log.append(n)
        await mcp__kit__add(a=n, b=n)
        log.append(-n)
await asyncio.gather(step(1), step(2))
print(log)

#%% event
import asyncio
ready = asyncio.Event()
async def setter():
    await asyncio.sleep(0.01)
    ready.set()
asyncio.create_task(setter())
await ready.wait()
print("ready")

#%% sleep
import asyncio
await asyncio.sleep(0.01)
print("slept")

#%% shield_and_cancel
import asyncio
task = asyncio.create_task(mcp__kit__slow(seconds=5))
await asyncio.sleep(0)
task.cancel()
try:
    await task
except asyncio.CancelledError:
    print("cancelled")

#%% batches_of_calls
import asyncio
results = []
for start in range(0, 9, 3):
    results += await asyncio.gather(*(mcp__kit__add(a=n, b=0) for n in range(start, start + 3)))
print(results)

#%% asyncio_run_of_main
#% better: a program may run its own event loop
import asyncio
async def main():
    print(await mcp__kit__add(a=1, b=2))
asyncio.run(main())

#%% await_of_main
async def main():
    print(await mcp__kit__add(a=1, b=2))
await main()

#%% asyncio_run_under_the_name_check
#% better: a program is the main module
import asyncio
async def main():
    print(await mcp__kit__greet(name="Ada"))
if __name__ == "__main__":
    asyncio.run(main())

#%% run_until_complete
#% better: a program may run the event loop itself
import asyncio
loop = asyncio.get_event_loop()
print(loop.run_until_complete(mcp__kit__add(a=1, b=2)))

#%% running_loop_beside_an_await
import asyncio
loop = asyncio.get_running_loop()
await asyncio.sleep(0)
print(loop.is_running(), loop is asyncio.get_event_loop())

#%% current_loop_without_an_await
import asyncio
loop = asyncio.get_event_loop()
print(loop.is_running(), loop.time() > 0)

#%% task_started_in_a_helper
import asyncio
tasks = []
def start(n):
    tasks.append(asyncio.create_task(mcp__kit__add(a=n, b=n)))
start(1)
start(2)
print(len(tasks))

#%% running_loop
import asyncio
print(asyncio.get_running_loop().is_running())

#%% to_thread
import asyncio
print(await asyncio.to_thread(sum, [1, 2, 3]))

#%% executor_threads
import asyncio, concurrent.futures
loop = asyncio.get_running_loop()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(await asyncio.gather(*(loop.run_in_executor(pool, pow, n, 2) for n in range(3))))

#%% plain_threads
import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(seen))

#%% call_without_await
result = mcp__kit__add(a=1, b=2)
print("no await", type(result).__name__)
print(await result)

#%% print_of_a_call_without_await
#% better: a tool call that was never awaited did not happen, and the program is told
print(str(mcp__kit__add(a=1, b=2))[:17])

#%% result_of_a_call_without_await_is_used
#% better: the error says what to write instead
total = mcp__kit__add(a=1, b=2) + 1

#%% awaited_twice
call = mcp__kit__add(a=1, b=2)
print(await call)
try:
    await call
except RuntimeError as error:
    print(error)

#%% is_coroutine_function
import inspect
print(inspect.iscoroutinefunction(mcp__kit__add))
call = mcp__kit__add(a=1, b=1)
print(inspect.isawaitable(call), await call)

#%% task_left_behind
import asyncio
asyncio.create_task(mcp__kit__slow(seconds=30))
print("done")

#%% progress_is_not_in_the_way
print(await mcp__kit__steps(count=3))
