for entity in sorted((await mcp__memory__read_graph())["entities"], key=lambda e: e["name"]):
    if not entity["observations"]:
        print(entity["name"])
