import re
graph = await mcp__memory__read_graph()
years = {}
for entity in graph["entities"]:
    for observation in entity["observations"]:
        if match := re.fullmatch(r"began in (\d{4})", observation):
            years[entity["name"]] = int(match[1])
newest = max(years, key=years.get)
print(newest, years[newest])
