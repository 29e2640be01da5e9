sales = await mcp__fixture__query_sales(region="East", year=2024)

# nested and conditional comprehensions
by_month = {m: [s for s in sales if int(s["date"][5:7]) == m] for m in range(1, 13)}
totals = {m: round(sum(s["revenue"] for s in rows), 2) for m, rows in by_month.items()}
print({m: t for m, t in totals.items() if t > 30_000})

big = [(s["id"], total) for s in sales if (total := s["units"] * s["unit_price"]) > 15_000]
print(big)

products = {s["product"] for s in sales}
print(sorted(products), len(products))

matrix = [[i * j for j in range(1, 5)] for i in range(1, 4)]
print(matrix, [list(col) for col in zip(*matrix)], [x for row in matrix for x in row if x % 2 == 0])

if (n := len(sales)) > 10:
    print(f"{n} sales")
while (sale := sales.pop()) and sale["units"] > 3:
    pass
print("stopped at", sale["id"], "left", len(sales))

first, second, *middle, last = [s["id"] for s in sales]
print(first, second, len(middle), last)
(a, b), c = (1, 2), 3
a, b = b, a
print(a, b, c, *range(3), sep="|")
print({**{"x": 1, "y": 2}, "y": 3} | {"z": 4}, [*range(3), *"ab"])
print(any(s["units"] > 20 for s in sales), all(s["revenue"] > 0 for s in sales))
print([i for i, s in enumerate(sales, start=1) if s["discount_percent"] == 10])
