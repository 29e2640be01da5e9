import asyncio
from contextlib import contextmanager, asynccontextmanager, suppress, ExitStack, AsyncExitStack, nullcontext, redirect_stdout
import io

log = []

@contextmanager
def section(title):
    print(f"== {title}")
    try:
        yield title.upper()
    except KeyError as e:
        print(f"   swallowed {e!r}")
    finally:
        print(f"== end {title}")

@asynccontextmanager
async def ticket(ticket_id):
    t = await mcp__fixture__get_ticket(id=ticket_id)
    log.append(f"open {ticket_id}")
    try:
        yield t
    finally:
        await asyncio.sleep(0)
        log.append(f"close {ticket_id}")

class Timer:
    def __enter__(self):
        self.steps = 0
        return self
    def __exit__(self, exc_type, exc, tb):
        print("timer saw", exc_type.__name__ if exc_type else None)
        return exc_type is ZeroDivisionError

with section("first") as s:
    print("  ", s)
    {}["missing"]

async with ticket("T-101") as a, ticket("T-102") as b:
    print(a["title"], "/", b["title"])

with suppress(ToolError):
    async with ticket("T-999"):
        print("never")

with Timer() as t:
    1 / 0
with Timer(), nullcontext(5) as five:
    print(five)

with ExitStack() as stack:
    for name in "abc":
        stack.callback(log.append, f"exit {name}")
async with AsyncExitStack() as stack:
    await stack.enter_async_context(ticket("T-103"))

buffer = io.StringIO()
with redirect_stdout(buffer):
    print("captured")
print(repr(buffer.getvalue()))
print(log)
