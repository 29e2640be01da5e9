import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders) ORDER BY id"))
print(" ".join(str(row["id"]) for row in rows))
