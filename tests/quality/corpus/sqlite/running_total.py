import ast
from itertools import accumulate
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT substr(day, 1, 7) AS month, SUM(quantity) AS units FROM orders GROUP BY month ORDER BY month"))
for row, total in zip(rows, accumulate(r["units"] for r in rows)):
    print(row["month"], total)
