import asyncio

CITIES = ["Berlin", "Paris", "São Paulo", "Tokyo", "Oslo", "Cairo", "Toronto", "Sydney"]

def to_fahrenheit(c): return c * 9 / 5 + 32

def bar(value, low, high, width=20):
    filled = round((value - low) / (high - low) * width)
    return "█" * filled + "░" * (width - filled)

weather = {w["city"]: w for w in await asyncio.gather(*map(mcp__fixture__weather, CITIES))}
temps = {city: w["temperature_c"] for city, w in weather.items()}
low, high = min(temps.values()), max(temps.values())

header = ("City", "°C", "°F", "Conditions")
rows = [(c, f"{t:.1f}", f"{to_fahrenheit(t):.1f}", weather[c]["conditions"]) for c, t in sorted(temps.items(), key=lambda x: x[1])]
widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
print(" | ".join(h.ljust(w) for h, w in zip(header, widths)))
print("-+-".join("-" * w for w in widths))
for row in rows:
    cells = [row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:3], widths[1:3])] + [row[3].ljust(widths[3])]
    print(" | ".join(cells).rstrip())
for city in ("Oslo", "Berlin", "Cairo"):
    print(f"{city:<7}{bar(temps[city], low, high)}")

sunny = [c for c in CITIES if weather[c]["conditions"] == "sunny"]
print(", ".join(sunny[:-1]) + " and " + sunny[-1])
