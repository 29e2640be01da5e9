import csv
import io
from collections import Counter

text = await mcp__fixture__read_text(path="/data/orders.csv")
reader = csv.DictReader(io.StringIO(text))
orders = list(reader)
print("columns:", reader.fieldnames)
print("rows:", len(orders))

by_status = Counter(o["status"] for o in orders)
for status, count in sorted(by_status.items(), key=lambda x: (-x[1], x[0])):
    print(f"  {status:10} {count:3d} {'#' * count}")

notes = sorted({o["note"] for o in orders if o["note"]})
print("notes:", notes)

# Write a filtered CSV back out
out = io.StringIO()
writer = csv.writer(out, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
writer.writerow(["order_id", "customer", "note"])
for o in orders:
    if o["note"] and o["status"] == "open":
        writer.writerow([o["order_id"], o["customer"], o["note"]])
print(out.getvalue(), end="")
