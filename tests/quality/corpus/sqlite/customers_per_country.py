import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT country, COUNT(*) AS n FROM customers GROUP BY country ORDER BY country"))
for row in rows:
    print(f"{row['country']}: {row['n']}")
