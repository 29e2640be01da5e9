from collections import Counter

revenue = Counter()
period = {"from": "2026-02-01", "to": "2026-03-14"}
for row in (await mcp__analytics__query_metric(metric="revenue_cents", group_by="device", **period))["rows"]:
    revenue[row["device"]] += row["value"]
print(", ".join(f"{device} {cents}" for device, cents in sorted(revenue.items())))
