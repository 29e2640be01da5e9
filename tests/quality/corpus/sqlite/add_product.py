import ast
await mcp__sqlite__write_query(query="INSERT INTO products (id, name, category, price_cents, stock) VALUES (26, 'Brass trumpet', 'music', 12900, 4)")
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT COUNT(*) AS n FROM products WHERE category = 'music'"))
print(rows[0]["n"])
