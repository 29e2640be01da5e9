import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT name, since FROM customers ORDER BY since LIMIT 5"))
print("\n".join(row["name"] for row in rows))
