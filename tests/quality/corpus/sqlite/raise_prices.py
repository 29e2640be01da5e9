import ast
await mcp__sqlite__write_query(query="UPDATE products SET price_cents = price_cents * 11 / 10 WHERE category = 'games'")
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT price_cents FROM products WHERE category = 'games' ORDER BY id"))
for row in rows:
    print(row["price_cents"])
