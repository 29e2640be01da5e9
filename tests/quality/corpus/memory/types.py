from itertools import groupby
entities = sorted((await mcp__memory__read_graph())["entities"], key=lambda e: e["entityType"])
for kind, group in groupby(entities, key=lambda e: e["entityType"]):
    print(kind, len(list(group)))
