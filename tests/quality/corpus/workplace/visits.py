result = await mcp__analytics__query_metric({"metric": "visits", "from": "2026-03-01", "to": "2026-03-07"})
print(sum(row["value"] for row in result["rows"]))
