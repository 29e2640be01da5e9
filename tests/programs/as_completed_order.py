import asyncio
import time

async def job(name, ms):
    await mcp__fixture__sleep(ms=ms)
    return name

start = time.perf_counter()
jobs = [job("slow", 400), job("fast", 1), job("medium", 200)]
for finished in asyncio.as_completed(jobs):
    print("finished", await finished)
elapsed = time.perf_counter() - start
print("waited for the slowest:", elapsed > 0.39)

done, pending = await asyncio.wait(
    [asyncio.create_task(job("a", 1), name="a"), asyncio.create_task(job("b", 60_000), name="b")],
    return_when=asyncio.FIRST_COMPLETED,
)
print("done:", [t.get_name() for t in done], "pending:", [t.get_name() for t in pending])
for t in pending:
    t.cancel()
await asyncio.gather(*pending, return_exceptions=True)
