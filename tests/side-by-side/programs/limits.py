#%% slow_tool
print("started")
await mcp__kit__slow(seconds=30)

#%% long_sleep
import asyncio
await asyncio.sleep(30)

#%% gathered_slow_tools
import asyncio
await asyncio.gather(*(mcp__kit__slow(seconds=30) for _ in range(3)))

#%% blocking_sleep
#% better: the timeout ends whatever the program does
import time
time.sleep(60)

#%% endless_loop
#% better: the timeout ends whatever the program does
while True:
    pass

#%% output_over_the_limit
print("x" * 5000)

#%% many_lines_over_the_limit
for n in range(1000):
    print("line", n)

#%% output_at_the_limit
print("x" * 1999)

#%% wide_characters_over_the_limit
#% better: the limit is in bytes, and a character is not cut
print("é" * 1500)

#%% own_timeout_is_shorter
import asyncio
try:
    await asyncio.wait_for(mcp__kit__slow(seconds=30), 0.1)
except TimeoutError:
    print("gave up")
