failed = total = 0
cursor = None
while True:
    page = await mcp__ci__list_workflow_runs(repo="acme/shop", limit=100, cursor=cursor)
    for run in page["workflow_runs"]:
        total += 1
        failed += run["conclusion"] == "failure"
    cursor = page.get("next_cursor")
    if not cursor:
        break
print(f"{failed}/{total}")
