await mcp__memory__delete_relations(relations=[{"from": "Jun", "to": "Atlas", "relationType": "works_on"}])
await mcp__memory__create_relations(relations=[{"from": "Farah", "to": "Atlas", "relationType": "works_on"}])
graph = await mcp__memory__read_graph()
print(*sorted(r["from"] for r in graph["relations"] if r["to"] == "Atlas" and r["relationType"] == "works_on"), sep="\n")
