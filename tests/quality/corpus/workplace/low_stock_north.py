result = await mcp__sales__get_daily_sales(region="north", day="2026-03-12")
low = sorted(p["sku"] for p in result["products"] if p["stock_left"] < 50)
print("\n".join(low) if low else "none")
