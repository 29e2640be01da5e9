hour = {"from": "2026-03-18T14:00:00Z", "to": "2026-03-18T15:00:00Z"}
page = await mcp__observability__search_logs(service="web", level="error", **hour)
print(page["lines"][0], page["total"], page.keys())
found = await mcp__observability__list_deployments(**{**hour, "from": "2026-03-18T11:00:00Z"})
print(found["deployments"][0])
