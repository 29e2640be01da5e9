//! asyncio as programs use it, over tool calls.

use serde_json::json;

use crate::support::Gateway;

/// A program's output, with as many calls at once as it likes.
fn prints(code: &str) -> String {
    Gateway::with_limits(&json!({ "max_parallel_calls": 100 })).prints(code)
}

#[test]
fn gather_keeps_the_order() {
    let code = "
        import asyncio
        print(await asyncio.gather(*(mcp__fixture__add(n, 100) for n in range(30))))
        print(await asyncio.gather(
            mcp__fixture__add(1, 2), mcp__fixture__fail(message='no'), asyncio.sleep(0, 'slept'),
            return_exceptions=True))
    ";
    let sums: Vec<u32> = (100..130).collect();
    assert_eq!(
        prints(code),
        format!("{sums:?}\n[3, ToolError(\"'mcp__fixture__fail' failed: no\"), 'slept']\n")
    );
}

#[test]
fn fifty_calls_run_at_once() {
    let code = "
        import asyncio
        print(max(await asyncio.gather(*(mcp__fixture__in_flight(ms=60_000, until=50) for _ in range(50)))))
    ";
    assert_eq!(prints(code), "50\n");
}

#[test]
fn a_loop_of_single_calls_is_not_parallel() {
    let code = "print(max([await mcp__fixture__in_flight(ms=1) for _ in range(10)]))";
    assert_eq!(prints(code), "1\n");
}

#[test]
fn tasks_run_while_others_wait() {
    let code = "
        import asyncio
        order = []
        async def wait_slowly():
            await mcp__fixture__in_flight(ms=60_000, until=2)
            order.append('slow')
            return 'slow'
        async def be_fast():
            await mcp__fixture__sleep(ms=1)
            order.append('fast')
            await mcp__fixture__in_flight(ms=60_000, until=2)
            return 'fast'
        slow = asyncio.create_task(wait_slowly())
        fast = asyncio.create_task(be_fast())
        order.append('started')
        print(await slow, await fast, order)
        print(slow.done(), fast.result(), len(asyncio.all_tasks()))
    ";
    assert_eq!(prints(code), "slow fast ['started', 'fast', 'slow']\nTrue fast 1\n");
}

#[test]
fn a_semaphore_limits() {
    let code = "
        import asyncio
        gate = asyncio.Semaphore(3)
        async def one(**options):
            async with gate:
                return await mcp__fixture__in_flight(**options)
        print(max(await asyncio.gather(*(one(ms=60_000, until=3) for _ in range(12)))))
        print(max(await asyncio.gather(*(one(ms=20, until=4) for _ in range(6)))))
    ";
    assert_eq!(prints(code), "3\n3\n");
}

#[test]
fn as_completed_gives_the_fast_ones_first() {
    let code = "
        import asyncio
        turns = {n: asyncio.Event() for n in (1, 2, 3)}
        async def in_turn(n):
            await turns[n].wait()
            await mcp__fixture__sleep(ms=1)
            return n
        turns[1].set()
        seen = []
        for done in asyncio.as_completed([in_turn(3), in_turn(1), in_turn(2)]):
            seen.append(await done)
            turns[min(len(seen) + 1, 3)].set()
        print(seen)
        async def after(ms):
            await mcp__fixture__sleep(ms=ms)
            return ms
        done, pending = await asyncio.wait(
            [asyncio.create_task(after(ms)) for ms in (1, 600_000)],
            return_when=asyncio.FIRST_COMPLETED)
        print([task.result() for task in done], len(pending))
    ";
    assert_eq!(prints(code), "[1, 2, 3]\n[1] 1\n");
}

#[test]
fn wait_for_gives_up_and_cancels_the_call() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    let code = "
        import asyncio
        try:
            await asyncio.wait_for(mcp__fixture__hang(), timeout=0.5)
        except TimeoutError as error:
            print('gave up', type(error).__name__)
        print(await asyncio.wait_for(mcp__fixture__add(1, 2), timeout=30))
        try:
            async with asyncio.timeout(0.5):
                await mcp__fixture__sleep(ms=60_000)
        except TimeoutError:
            print('gave up again')
        task = asyncio.create_task(mcp__fixture__countdown(steps=1, ms=60_000))
        await asyncio.sleep(0)
        # Calls go out in order, so that the first has left when the second is answered.
        await mcp__fixture__add(1, 2)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print('cancelled')
    ";
    assert_eq!(gateway.prints(code), "gave up TimeoutError\n3\ngave up again\ncancelled\n");
    for tool in ["hang", "sleep", "countdown"] {
        log.wait_for_cancel(&log.wait_for_call(tool));
    }
}

#[test]
fn a_call_left_running_is_cancelled_at_the_end() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    let code = "
        import asyncio
        task = asyncio.create_task(mcp__fixture__hang())
        await mcp__fixture__sleep(ms=200)
        print('done')
    ";
    assert_eq!(gateway.prints(code), "done\n");
    log.wait_for_cancel(&log.wait_for_call("hang"));
}

#[test]
fn a_program_may_run_its_own_loop() {
    let code = "
        import asyncio
        async def main():
            return await asyncio.gather(mcp__fixture__add(1, 2), mcp__fixture__add(3, 4))
        if __name__ == '__main__':
            print(asyncio.run(main()))
            print(asyncio.run(main()))
            with asyncio.Runner() as runner:
                print(runner.run(main()))
            loop = asyncio.new_event_loop()
            print(loop.run_until_complete(main()))
            loop.close()
    ";
    assert_eq!(prints(code), "[3, 7]\n".repeat(4));
}

#[test]
fn asyncio_run_within_a_running_loop_is_refused_as_ever() {
    let code = "
        import asyncio, warnings
        warnings.simplefilter('ignore')
        async def main(): pass
        await asyncio.sleep(0)
        try:
            asyncio.run(main())
        except RuntimeError as error:
            print(error)
    ";
    assert_eq!(prints(code), "asyncio.run() cannot be called from a running event loop\n");
}

#[test]
fn threads_run_beside_the_loop() {
    let code = "
        import asyncio, threading, time
        def work(n):
            time.sleep(0.01)
            return n * n, threading.current_thread() is not threading.main_thread()
        print(await asyncio.gather(
            asyncio.to_thread(work, 3), mcp__fixture__add(1, 2), asyncio.to_thread(work, 4)))
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(future.set_result, 'set')).start()
        print(await future)
        def ask():
            return asyncio.run_coroutine_threadsafe(mcp__fixture__add(5, 6), loop).result()
        print(await asyncio.to_thread(ask))
    ";
    assert_eq!(prints(code), "[(9, True), 3, (16, True)]\nset\n11\n");
}

#[test]
fn a_task_group_waits_for_all_and_fails_as_one() {
    let code = "
        import asyncio
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(mcp__fixture__add(n, n)) for n in range(4)]
        print([task.result() for task in tasks])
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(mcp__fixture__fail(message='no'))
                hanging = group.create_task(mcp__fixture__hang())
        except* ToolError as errors:
            print([str(error) for error in errors.exceptions], hanging.cancelled())
    ";
    assert_eq!(prints(code), "[0, 2, 4, 6]\n[\"'mcp__fixture__fail' failed: no\"] True\n");
}

#[test]
fn queues_events_and_locks_work() {
    let code = "
        import asyncio
        queue, results, lock = asyncio.Queue(maxsize=2), [], asyncio.Lock()
        async def worker():
            while (n := await queue.get()) is not None:
                total = await mcp__fixture__add(n, 1000)
                async with lock:
                    results.append(total)
                queue.task_done()
        workers = [asyncio.create_task(worker()) for _ in range(3)]
        for n in range(10):
            await queue.put(n)
        await queue.join()
        for _ in workers:
            await queue.put(None)
        await asyncio.gather(*workers)
        print(sorted(results))
    ";
    let sums: Vec<u32> = (1000..1010).collect();
    assert_eq!(prints(code), format!("{sums:?}\n"));
}

#[test]
fn every_thread_may_have_a_loop_of_its_own() {
    let mut gateway = Gateway::new();
    let code = "
        import asyncio, concurrent.futures
        def work(number):
            async def main():
                total = 0
                for step in range(20):
                    total += await mcp__fixture__add(a=number, b=step)
                await asyncio.gather(mcp__fixture__sleep(ms=5), asyncio.sleep(0.001))
                return total
            return asyncio.run(main())
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            print(list(pool.map(work, range(8))))
        print(await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(3))))
    ";
    let expected = "[190, 210, 230, 250, 270, 290, 310, 330]\n[190, 210, 230]\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn a_loop_shuts_down_what_there_is_and_says_nothing_of_the_rest() {
    let code = "
        import asyncio
        loop = asyncio.get_running_loop()
        print(await loop.shutdown_asyncgens(), await loop.shutdown_default_executor(timeout=1))
    ";
    assert_eq!(prints(code), "None None\n");
    let code = "
        import asyncio
        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                print('closed')
        left = numbers()
        print(await anext(left), await asyncio.to_thread(lambda: 'threaded'))
    ";
    assert_eq!(prints(code), "1 threaded\nclosed\n");
}
