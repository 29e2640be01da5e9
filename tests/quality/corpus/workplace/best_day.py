result = await mcp__analytics__query_metric({"metric": "purchases", "from": "2026-03-01", "to": "2026-03-31"})
days = {}
for row in result["rows"]:
    days[row["day"]] = days.get(row["day"], 0) + row["value"]
print(max(sorted(days), key=days.get))
