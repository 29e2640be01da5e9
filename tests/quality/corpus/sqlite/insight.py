import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="""
    SELECT p.category, SUM(o.quantity) AS units FROM orders o JOIN products p ON p.id = o.product_id
    GROUP BY p.category ORDER BY units DESC LIMIT 1
"""))
category = rows[0]["category"]
await mcp__sqlite__append_insight(insight=f"Most units: {category}")
print(category)
