import ast
from datetime import date
from collections import Counter
rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT since FROM customers"))
years = Counter(date.fromisoformat(r["since"]).year for r in rows)
for year, count in sorted(years.items()):
    print(f"{year}: {count}")
