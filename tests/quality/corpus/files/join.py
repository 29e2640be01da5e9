import asyncio, csv, io, json
from collections import Counter

orders_file, customers_file = await asyncio.gather(
    mcp__files__read_text_file(path="FOLDER/orders.csv"),
    mcp__files__read_text_file(path="FOLDER/customers.jsonl"),
)
names = {}
for line in customers_file["content"].splitlines():
    customer = json.loads(line)
    names[customer["id"]] = customer["name"]
counts = Counter(int(row["customer_id"]) for row in csv.DictReader(io.StringIO(orders_file["content"])))
for customer_id, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]:
    print(names[customer_id], n)
