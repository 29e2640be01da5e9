import json
from collections import Counter
employees = json.loads((await mcp__files__read_text_file(path="FOLDER/employees.json"))["content"])
reports = Counter(e["manager"] for e in employees if e["manager"] is not None)
position, n = min(reports.items(), key=lambda item: (-item[1], item[0]))
print(f"{employees[position]['name']}: {n}")
