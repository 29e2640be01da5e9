found = await mcp__memory__search_nodes(query="lives in Tallinn")
print("\n".join(sorted(e["name"] for e in found["entities"] if e["entityType"] == "person")))
