await mcp__memory__create_entities(entities=[{"name": "Goran", "entityType": "person", "observations": ["lives in Riga"]}])
await mcp__memory__create_relations(relations=[{"from": "Goran", "to": "Borealis", "relationType": "works_on"}])
graph = await mcp__memory__read_graph()
print("\n".join(sorted(r["from"] for r in graph["relations"] if r["to"] == "Borealis")))
