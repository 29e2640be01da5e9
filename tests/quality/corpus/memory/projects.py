graph = await mcp__memory__read_graph()
for name in sorted(e["name"] for e in graph["entities"] if e["entityType"] == "project"):
    print(name)
