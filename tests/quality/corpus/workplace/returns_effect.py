async def units(include_returns):
    sales = await mcp__sales__get_daily_sales(region="east", day="2026-03-10", include_returns=include_returns)
    return sum(p["units"] for p in sales["products"])

print(await units(False) - await units(True))
