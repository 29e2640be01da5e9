import ast
from collections import Counter
orders = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT customer_id, product_id FROM orders"))
pairs = Counter((o["customer_id"], o["product_id"]) for o in orders)
print(len({customer for (customer, product), n in pairs.items() if n > 1}))
