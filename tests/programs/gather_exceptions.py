import asyncio

cities = ["Berlin", "Atlantis", "Tokyo", "Oslo", "El Dorado", "Cairo"]
results = await asyncio.gather(
    *(mcp__fixture__weather(city=c) for c in cities), return_exceptions=True
)

ok, failed = [], []
for city, result in zip(cities, results):
    if isinstance(result, Exception):
        failed.append((city, f"{type(result).__name__}: {result}"))
    else:
        ok.append(result)

warmest = max(ok, key=lambda w: w["temperature_c"])
print(f"warmest: {warmest['city']} at {warmest['temperature_c']}°C")
print("mean: {:.2f}".format(sum(w["temperature_c"] for w in ok) / len(ok)))
for city, error in failed:
    print(f"{city}: {error}")
