rate = await mcp__rates__get_rate(currency="CHF")
print(f"{250 * rate['rate']:.2f}")
