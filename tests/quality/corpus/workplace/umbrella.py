forecast = await mcp__office__get_forecast(city="Berlin", day="2026-03-18")
print("yes" if forecast["rain_percent"] >= 50 else "no")
