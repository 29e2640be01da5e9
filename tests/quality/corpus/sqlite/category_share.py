import ast
from collections import defaultdict

rows = ast.literal_eval(await mcp__sqlite__read_query(query="""
    SELECT p.category, o.quantity * p.price_cents AS cents
    FROM orders o JOIN products p ON o.product_id = p.id
    WHERE o.status = 'paid'
"""))
revenue = defaultdict(int)
for row in rows:
    revenue[row["category"]] += row["cents"]
total = sum(revenue.values())
for category, cents in sorted(revenue.items(), key=lambda item: item[1], reverse=True):
    print(f"{category} {cents / total:.1%}")
