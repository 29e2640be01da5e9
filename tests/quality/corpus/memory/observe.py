await mcp__memory__add_observations(observations=[{"entityName": "Ivo", "contents": ["likes chess"]}])
nodes = await mcp__memory__open_nodes(names=["Ivo"])
for observation in nodes["entities"][0]["observations"]:
    print(observation)
