import csv, io
from collections import Counter
content = (await mcp__files__read_text_file(path="FOLDER/orders.csv"))["content"]
counts = Counter(row["status"] for row in csv.DictReader(io.StringIO(content)))
for status, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])):
    print(status, n)
