import asyncio

class Pages:
    """Async iterator over pages of tickets."""
    def __init__(self, query, size):
        self.query, self.size, self.cursor, self.done = query, size, None, False

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.done:
            raise StopAsyncIteration
        extra = {"cursor": self.cursor} if self.cursor else {}
        page = await mcp__fixture__search_tickets(query=self.query, limit=self.size, **extra)
        self.cursor = page["next_cursor"]
        self.done = self.cursor is None
        return page["tickets"]

class Connection:
    async def __aenter__(self):
        print("connect")
        return self
    async def __aexit__(self, *exc):
        print("disconnect", exc[0].__name__ if exc[0] else "clean")
        return False

async def numbers(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            yield i
    finally:
        print("generator closed")

async with Connection():
    async for page in Pages("auth", 2):
        print([t["id"] for t in page])

try:
    async with Connection():
        await mcp__fixture__fail(message="broken pipe")
except ToolError as e:
    print(e)

print([n * n async for n in numbers(4)], {n: await mcp__fixture__add(n, 1) async for n in numbers(2)})
gen = numbers(10)
print(await anext(gen), await anext(gen))
await gen.aclose()
async for n in numbers(1):
    print("got", n)
else:
    print("loop finished")
