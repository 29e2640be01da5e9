import ast
from collections import Counter
from datetime import datetime
orders = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT day FROM orders"))
weekdays = Counter(datetime.strptime(o["day"], "%Y-%m-%d").strftime("%A") for o in orders)
print(weekdays.most_common(1)[0][0])
