from collections import Counter
actors, cursor = Counter(), None
while True:
    page = await mcp__ci__list_workflow_runs(repo="acme/shop", limit=50, cursor=cursor)
    actors.update(run["actor"] for run in page["workflow_runs"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
for actor, n in sorted(actors.items(), key=lambda x: (-x[1], x[0]))[:3]:
    print(actor, n)
