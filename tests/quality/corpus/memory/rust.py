result = await mcp__memory__search_nodes(query="Rust")
print(len([e for e in result["entities"] if e["entityType"] == "project" and "written in Rust" in e["observations"]]))
