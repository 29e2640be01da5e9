from collections import Counter

purchases = Counter()
period = {"from": "2026-02-01", "to": "2026-03-14"}
for row in (await mcp__analytics__query_metric(metric="purchases", group_by="country", **period))["rows"]:
    purchases[row["country"]] += row["value"]
print(", ".join(f"{country} {count}" for country, count in sorted(purchases.items())))
