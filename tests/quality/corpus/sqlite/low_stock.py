import ast

rows = ast.literal_eval(await mcp__sqlite__read_query(
    query="SELECT name, stock FROM products WHERE stock < 10 ORDER BY stock, name"
))
for row in rows:
    print(f"{row['name']} ({row['stock']})")
