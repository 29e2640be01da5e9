from collections import Counter
graph = await mcp__memory__read_graph()
people = {e["name"] for e in graph["entities"] if e["entityType"] == "person"}
counts = Counter(r["from"] for r in graph["relations"] if r["from"] in people)
print(min(counts, key=lambda name: (-counts[name], name)))
