import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT day, COUNT(*) AS n FROM orders GROUP BY day HAVING COUNT(*) >= 3"))
print(len(rows))
