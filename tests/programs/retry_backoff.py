import asyncio
import functools

def retry(attempts=3, base_delay=0.001, exceptions=(Exception,)):
    def decorator(func):
        @functools.wraps(func)
        async def wrapper(*args, **kwargs):
            for attempt in range(1, attempts + 1):
                try:
                    return await func(*args, **kwargs)
                except exceptions as e:
                    if attempt == attempts:
                        raise
                    delay = base_delay * 2 ** (attempt - 1)
                    print(f"  {func.__name__} attempt {attempt} failed ({e}), waiting {delay * 1000:g}ms")
                    await asyncio.sleep(delay)
        return wrapper
    return decorator

calls = 0

@retry(attempts=4, exceptions=(ToolError,))
async def flaky():
    """Succeeds the third time."""
    global calls
    calls += 1
    if calls < 3:
        await mcp__fixture__fail(message=f"try {calls}")
    return await mcp__fixture__add(a=calls, b=0.5)

print("result:", await flaky())
print(flaky.__name__, "-", flaky.__doc__)

@retry(attempts=2, exceptions=(ToolError,))
async def hopeless():
    await mcp__fixture__fail("always")

try:
    await hopeless()
except ToolError as e:
    print("gave up:", e)
