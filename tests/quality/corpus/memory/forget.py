await mcp__memory__delete_entities(entityNames=["Cirrus"])
graph = await mcp__memory__read_graph()
print(len(graph["entities"]), len(graph["relations"]))
