from datetime import date, timedelta
day = date(2026, 3, 9)
for offset in range(7):
    current = day + timedelta(days=offset)
    sales = await mcp__sales__get_daily_sales(region="south", day=current)
    euros = sum(p["revenue_cents"] for p in sales["products"]) / 100
    print(current, round(euros))
