sales = await mcp__sales__get_daily_sales(region="north", day="2026-03-10")
print(sum(p["units"] for p in sales["products"]))
