from collections import Counter

async def total(metric):
    found = Counter()
    period = {"from": "2026-02-01", "to": "2026-03-14"}
    for row in (await mcp__analytics__query_metric(metric=metric, group_by="country", **period))["rows"]:
        found[row["country"]] += row["value"]
    return found

purchases, revenue = await total("purchases"), await total("revenue_cents")
print(", ".join(f"{name} {revenue[name] / purchases[name] / 100:.2f}" for name in sorted(revenue)))
