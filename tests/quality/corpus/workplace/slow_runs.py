runs = []
page = await mcp__ci__list_workflow_runs(repo="acme/shop", limit=100)
runs.extend(page["workflow_runs"])
while page.get("next_cursor"):
    page = await mcp__ci__list_workflow_runs(repo="acme/shop", limit=100, cursor=page["next_cursor"])
    runs.extend(page["workflow_runs"])
runs.sort(key=lambda run: run["duration_seconds"], reverse=True)
for run in runs[:3]:
    print(run["run_number"], run["duration_seconds"])
