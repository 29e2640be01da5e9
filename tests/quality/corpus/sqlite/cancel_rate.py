import ast
rows = ast.literal_eval(await mcp__sqlite__read_query(query="""
    SELECT c.country AS country, AVG(CASE WHEN o.status = 'cancelled' THEN 1.0 ELSE 0.0 END) AS rate
    FROM orders o JOIN customers c ON c.id = o.customer_id
    GROUP BY c.country
    ORDER BY rate DESC
"""))
print(rows[0]["country"])
