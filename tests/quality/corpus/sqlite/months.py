import ast
from collections import Counter
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT day FROM orders"))
months = Counter(row["day"][:7] for row in rows)
for month in sorted(months):
    print(month, months[month])
