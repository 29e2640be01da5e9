import ast
await mcp__sqlite__create_table(query="CREATE TABLE totals (country TEXT, orders INTEGER)")
await mcp__sqlite__write_query(query="""
    INSERT INTO totals
    SELECT c.country, COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.country
""")
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT * FROM totals ORDER BY country"))
for row in rows:
    print(row["country"], row["orders"])
