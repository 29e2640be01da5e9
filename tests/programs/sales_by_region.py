# Total revenue and units per region, best region first
from collections import defaultdict

sales = await mcp__fixture__query_sales(year=2025)

totals = defaultdict(lambda: {"revenue": 0.0, "units": 0, "orders": 0})
for sale in sales:
    entry = totals[sale["region"]]
    entry["revenue"] += sale["revenue"]
    entry["units"] += sale["units"]
    entry["orders"] += 1

print(f"{'Region':<8}{'Revenue':>14}{'Units':>8}{'Avg':>12}")
print("-" * 42)
for region, t in sorted(totals.items(), key=lambda kv: -kv[1]["revenue"]):
    avg = t["revenue"] / t["orders"]
    print(f"{region:<8}{t['revenue']:>14,.2f}{t['units']:>8d}{avg:>12,.2f}")

grand_total = sum(t["revenue"] for t in totals.values())
print(f"Total: ${grand_total:,.2f}")
