import asyncio, collections

async def outcome(call):
    try:
        return await call
    except ToolError as error:
        return str(error)

# %% a million, one after the other
refused = 0
for n in range(1_000_000):
    try:
        await mcp__fixture__add(n, 1)
    except ToolError as error:
        refused += 1
        if refused == 100:
            print(n, error)
            break

# %% ten thousand at once
results = await asyncio.gather(*(outcome(mcp__fixture__add(1, 1)) for _ in range(10_000)))
for value, count in collections.Counter(map(str, results)).most_common():
    print(count, value)

# %% no more at once than allowed
print(max(await asyncio.gather(*(mcp__fixture__in_flight(ms=20_000, until=4) for _ in range(40)))))

# %% never awaited
for n in range(30_000):
    mcp__fixture__add(n, n).close()
print("none was made")

# %% cancelled by the thousand
async def once():
    task = asyncio.ensure_future(mcp__fixture__hang())
    await asyncio.sleep(0)
    task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0]
results = [await once() for _ in range(1000)]
print(collections.Counter(type(result).__name__ for result in results))
print(await outcome(mcp__fixture__add(1, 2)))

# %% uncaught
for n in range(1000):
    await mcp__fixture__add(n, 1)
