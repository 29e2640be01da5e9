import asyncio

async def outcome(call):
    try:
        value = await call
        return f"{type(value).__name__} of {len(value)}"
    except (ToolError, ValueError, MemoryError) as error:
        return f"{type(error).__name__}: {str(error)[:200]}"

# %% one of 10 MB
print(await outcome(mcp__fixture__echo(value="x" * 10_000_000)))

# %% one over the cap
print(await outcome(mcp__fixture__echo(value="x" * 68_000_000)))

# %% twenty of 1 MB at once
value = "x" * 1_000_000
results = await asyncio.gather(*(mcp__fixture__echo(value=value) for _ in range(20)))
print([len(result) for result in results] == [1_000_000] * 20)

# %% twenty thousand keys
print(await outcome(mcp__fixture__raw_arguments(**{f"k{n}": n for n in range(20_000)})))

# %% a key of 1 MB
print(await outcome(mcp__fixture__raw_arguments(**{"k" * 1_000_000: 1})))

# %% a number of a hundred thousand digits
import sys
sys.set_int_max_str_digits(0)
value = await mcp__fixture__echo(value=10 ** 100_000)
print(str(value) == str(10 ** 100_000))
