from ast import literal_eval

rows = literal_eval(await mcp__sqlite__read_query(query="""
SELECT c.id, c.name, COUNT(*) AS shipped
FROM orders o JOIN customers c ON c.id = o.customer_id
WHERE o.status = 'shipped'
GROUP BY c.id, c.name
ORDER BY shipped DESC, c.id
LIMIT 1
"""))
best = rows[0]
print(best["name"], best["shipped"], sep="\t")
