# servers: everything, memory, thinking, time
# Calls to several servers at once, of which some fail: none disturbs another.
import asyncio

calls = {
    "echo": mcp__everything__echo(message="first"),
    "bad sum": mcp__everything__get_sum(a=None, b=1),
    "slow": mcp__everything__trigger_long_running_operation(duration=0.3, steps=1),
    "made": mcp__memory__create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": []}]),
    "bad note": mcp__memory__add_observations(observations=[{"entityName": "Nobody", "contents": []}]),
    "thought": mcp__thinking__sequentialthinking(thought="a", thoughtNumber=1, totalThoughts=1, nextThoughtNeeded=False),
    "time": mcp__time__convert_time(source_timezone="UTC", time="00:00", target_timezone="Asia/Tokyo"),
    "bad time": mcp__time__get_current_time(timezone="Nowhere"),
}
answers = dict(zip(calls, await asyncio.gather(*calls.values(), return_exceptions=True)))
answers["time"] = answers["time"]["time_difference"]
for name, answer in answers.items():
    print(f"{name}: {answer!r}" if isinstance(answer, ToolError) else f"{name}: {answer}")

many = await asyncio.gather(*(mcp__everything__echo(message=str(n)) for n in range(100)))
print(many == [f"Echo: {n}" for n in range(100)])
