# 20,000 rows in, five lines out
import math
from collections import defaultdict

rows = await mcp__fixture__rows(count=20000)

revenue = defaultdict(list)
for r in rows:
    if r["quantity"] >= 5 and r["date"] >= "2025-06-01":
        revenue[r["region"]].append(r["quantity"] * r["price"])

for region in sorted(revenue):
    values = revenue[region]
    print(f"{region:<8} n={len(values):>5} sum={math.fsum(values):>14,.2f} max={max(values):>9,.2f}")

ids = {r["id"] for r in rows}
assert len(ids) == len(rows) == 20000
print(len({(r["region"], r["product"]) for r in rows}), "combinations")
