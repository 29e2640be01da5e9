import ast
result = await mcp__sqlite__read_query(query="""
    SELECT SUM(o.quantity * p.price_cents) AS cents
    FROM orders o JOIN products p ON p.id = o.product_id
    WHERE o.status <> 'cancelled'
""")
cents = ast.literal_eval(result)[0]["cents"]
print(f"{cents / 100:.2f}")
