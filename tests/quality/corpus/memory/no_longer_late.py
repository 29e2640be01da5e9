await mcp__memory__delete_observations(deletions=[{"entityName": "Cirrus", "observations": ["is late"]}])
graph = await mcp__memory__read_graph()
late = any("is late" in e["observations"] for e in graph["entities"])
print("late" if late else "on time")
