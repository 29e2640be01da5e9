import ast
query = """
SELECT name FROM products
WHERE id NOT IN (SELECT product_id FROM orders WHERE day >= '2026-06-01')
ORDER BY name
"""
for row in ast.literal_eval(await mcp__sqlite__read_query(query=query)):
    print(row["name"])
