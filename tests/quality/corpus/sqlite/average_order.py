import ast
import pandas as pd

orders = pd.DataFrame(ast.literal_eval(await mcp__sqlite__read_query(query="""
    SELECT o.status, o.quantity * p.price_cents AS cents FROM orders o JOIN products p ON p.id = o.product_id
""")))
for status, cents in orders.groupby("status")["cents"].mean().items():
    print(f"{status} {cents / 100:.2f}")
