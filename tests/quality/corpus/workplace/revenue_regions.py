import asyncio
regions = sorted(["north", "south", "east", "west", "central", "islands"])
results = await asyncio.gather(*[mcp__sales__get_daily_sales(region=r, day="2026-03-10") for r in regions])
for region, result in zip(regions, results):
    cents = sum(p["revenue_cents"] for p in result["products"])
    print(f"{region} {cents / 100:.2f}")
