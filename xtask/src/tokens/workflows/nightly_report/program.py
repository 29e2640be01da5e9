import asyncio

day = "2026-03-27"
regions = ["north", "south", "east", "west", "central", "islands"]
sales = await asyncio.gather(*(mcp__sales__get_daily_sales(region=r, day=day) for r in regions))

revenue = {}
for found in sales:
    region, products = found["region"], found["products"]
    revenue[region] = sum(p["revenue_cents"] for p in products)
    units = sum(p["units"] for p in products)
    top = ", ".join(p["name"] for p in sorted(products, key=lambda p: -p["revenue_cents"])[:3])
    low = sum(p["stock_left"] < 10 for p in products)
    await mcp__chat__post_message(
        channel=f"#sales-{region}",
        text=f"*{region} {day}*: {revenue[region] / 100:.2f} EUR, {units} units. Top: {top}. Low stock: {low}",
    )
best = max(revenue, key=revenue.get)
text = f"*{day}*: {sum(revenue.values()) / 100:.2f} EUR, best region {best}"
await mcp__chat__post_message(channel="#management", text=text)
print(text)
