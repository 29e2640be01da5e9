import ast
import statistics
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT price_cents FROM products"))
print(statistics.median(row["price_cents"] for row in rows))
