from collections import Counter
result = await mcp__observability__list_deployments({"from": "2026-03-01T00:00:00Z", "to": "2026-03-31T23:59:59Z"})
services = Counter(d["service"] for d in result["deployments"] if d["environment"] == "production")
for service, n in sorted(services.items()):
    print(service, n)
