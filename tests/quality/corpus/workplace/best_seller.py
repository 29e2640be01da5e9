from collections import Counter
units = Counter()
for region in ["north", "south", "east", "west", "central", "islands"]:
    day = await mcp__sales__get_daily_sales(region=region, day="2026-03-11")
    for product in day["products"]:
        units[product["name"]] += product["units"]
name = min(units, key=lambda n: (-units[n], n))
print(name, units[name])
