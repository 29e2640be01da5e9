import csv
from collections import Counter
from io import StringIO
rows = csv.DictReader(StringIO((await mcp__files__read_text_file(path="FOLDER/orders.csv"))["content"]))
counts = Counter(row["status"] for row in rows)
report = "# Orders\n\n" + "\n".join(f"- {status}: {counts[status]}" for status in sorted(counts)) + "\n"
await mcp__files__write_file(path="FOLDER/report.md", content=report)
print((await mcp__files__read_text_file(path="FOLDER/report.md"))["content"])
