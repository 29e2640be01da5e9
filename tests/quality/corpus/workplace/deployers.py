deployments = (await mcp__observability__list_deployments({"from": "2026-03-01T00:00:00Z", "to": "2026-03-31T23:59:59Z"}))["deployments"]
print("\n".join(sorted({d["by"] for d in deployments})))
