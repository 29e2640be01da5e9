graph = await mcp__memory__read_graph()
people = [r for r in graph["relations"] if r["to"] == "Atlas" and r["relationType"] in {"leads", "works_on"}]
for relation in sorted(people, key=lambda r: r["from"]):
    print(f"{relation['from']} ({relation['relationType']})")
