import asyncio

async def fetch_with_timeout(ms, timeout):
    try:
        return await asyncio.wait_for(mcp__fixture__sleep(ms=ms), timeout=timeout)
    except asyncio.TimeoutError:
        return f"timed out after {timeout}s"

print(await fetch_with_timeout(5, 10))
print(await fetch_with_timeout(60_000, 0.05))

try:
    async with asyncio.timeout(0.05):
        await mcp__fixture__sleep(60_000)
except TimeoutError:
    print("timeout context fired")

task = asyncio.create_task(mcp__fixture__sleep(60_000))
await asyncio.sleep(0)
task.cancel()
try:
    await task
except asyncio.CancelledError:
    print("cancelled:", task.cancelled())

print("is TimeoutError:", asyncio.TimeoutError is TimeoutError)
print("still works:", await mcp__fixture__add(1, 2))
