import json
from statistics import mean
employees = json.loads((await mcp__files__read_text_file(path="FOLDER/employees.json"))["content"])
by_department = {}
for employee in employees:
    by_department.setdefault(employee["department"], []).append(employee["salary"])
for department in sorted(by_department):
    print(f"{department}: {round(mean(by_department[department]))}")
