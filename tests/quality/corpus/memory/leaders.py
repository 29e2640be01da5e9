graph = await mcp__memory__read_graph()
leads = {r["to"]: r["from"] for r in graph["relations"] if r["relationType"] == "leads"}
for project, person in sorted(leads.items()):
    print(f"{project}: {person}")
