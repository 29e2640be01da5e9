# servers: thinking
# A server that remembers: thoughts in a row, and a branch.
print(*sorted(name for name in dir(tools) if name.startswith("mcp__thinking__")), sep="\n")

def think(number, **more):
    return mcp__thinking__sequentialthinking(
        thought=f"thought {number}", thoughtNumber=number, totalThoughts=3,
        nextThoughtNeeded=number < 3, **more,
    )

print(await think(1))
print(await think(2, branchFromThought=1, branchId="aside"))
print(await think(3))
try:
    await mcp__thinking__sequentialthinking(thought="none", thoughtNumber=0, totalThoughts=1, nextThoughtNeeded=False)
except ToolError as error:
    print(error)
